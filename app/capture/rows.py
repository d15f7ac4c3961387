"""A camera's buffer as a picture: padding between the rows and bytes after them cut off, what does not fit refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.frame import PixelFormat
from app.picture_memory import PictureMemory
from app.verdict import Code, Reason


@dataclass(frozen=True, slots=True)
class Plane:
    """Where one plane of a picture lies in a buffer.

    Attributes:
        offset: bytes before its first row.
        pitch: bytes from one row to the next.
    """

    offset: int
    pitch: int


def take(
    buffer: NDArray[np.uint8],
    pixels: PixelFormat,
    size_wh: tuple[int, int],
    planes: Sequence[Plane] | None = None,
    *,
    owned: bool = False,
    memory: PictureMemory | None = None,
) -> NDArray[Any] | Reason:
    """Take a picture out of a buffer.

    Args:
        buffer: uint8 (n,), all bytes that the driver gave; little-endian where values have two.
        pixels: what the driver calls them.
        size_wh: in pixels, as the driver says.
        planes: where they lie, two for NV12; None where nobody tells: then rows must follow one another, and what comes
            after the last one (less than a byte for each row, else it might be padding between them) is cut off.
        owned: nobody writes to the buffer again, so that a picture without gaps need not be copied.
        memory: that a copy is put in; None: in an array of its own.

    Returns:
        An array, C-contiguous, as the format says, new unless `owned`; or why it would be misread.
    """
    pairs_wh = {PixelFormat.NV12: (2, 2), PixelFormat.YUYV: (2, 1)}.get(pixels, (1, 1))
    if min(size_wh) < 1 or any(side % pair for side, pair in zip(size_wh, pairs_wh, strict=True)):
        return Reason(Code.WRONG_SIZE, "a picture in {} can't be {}x{}".format(pixels.value, *size_wh))
    extents = _extents(pixels, size_wh)
    needed = sum(rows * width for rows, width in extents)
    if planes is None and buffer.size - needed >= size_wh[1]:
        text = f"{_sizes(buffer.size, needed, pixels, size_wh)}; are rows padded, or pixels packed?"
        return Reason(Code.WRONG_FORMAT, text)
    planes = planes or _following(extents)
    if len(planes) != len(extents):
        return Reason(Code.WRONG_FORMAT, f"{len(planes)} planes are no {pixels.value}, which has {len(extents)}")
    parts = []
    for plane, (rows, width) in zip(planes, extents, strict=True):
        end = plane.offset + plane.pitch * (rows - 1) + width
        if plane.pitch < width:
            return Reason(Code.WRONG_FORMAT, f"rows of {plane.pitch} bytes are too short for {pixels.value}: {width}")
        if end > buffer.size:
            return Reason(Code.TORN, _sizes(buffer.size, end, pixels, size_wh))
        parts.append(np.ndarray((rows, width), np.uint8, buffer, plane.offset, (plane.pitch, 1)))
    stored, shape = pixels.dtype.newbyteorder("<"), pixels.shape(size_wh)
    taken: NDArray[Any]
    if owned and list(planes) == _following(extents):
        taken = buffer[:needed].view(stored).reshape(shape)
    else:
        taken = np.empty(shape, stored) if memory is None else memory.take(shape, stored)
        _copy(parts, taken.reshape(-1).view(np.uint8))
    return taken.astype(pixels.dtype, copy=False)


def _copy(planes: Sequence[NDArray[np.uint8]], flat: NDArray[np.uint8]) -> None:
    """Put planes one after another."""
    at = 0
    for plane in planes:
        np.copyto(flat[at : at + plane.size].reshape(plane.shape), plane)
        at += plane.size


def _extents(pixels: PixelFormat, size_wh: tuple[int, int]) -> list[tuple[int, int]]:
    """Return rows and bytes a row of each plane."""
    width, height = size_wh
    if pixels is PixelFormat.NV12:
        return [(height, width), (height // 2, width)]
    return [(height, math.prod(pixels.shape(size_wh)[1:]) * pixels.dtype.itemsize)]


def _following(extents: Sequence[tuple[int, int]]) -> list[Plane]:
    planes, offset = [], 0
    for rows, width in extents:
        planes.append(Plane(offset, width))
        offset += rows * width
    return planes


def _sizes(given: int, needed: int, pixels: PixelFormat, size_wh: tuple[int, int]) -> str:
    return "the buffer has {} bytes, a {}x{} picture in {} needs {}".format(given, *size_wh, pixels.value, needed)
