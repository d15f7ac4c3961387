"""How a picture goes from the process that reads a camera to ours: a line of text, and pixels in shared memory."""

from __future__ import annotations

import json
import mmap
import os
from math import prod
from time import monotonic_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app import errors
from app.errors import SourceLost, TaktsightError
from app.frame import NO_IMAGE, Picture, PixelFormat
from app.picture_memory import PictureMemory
from app.verdict import Code, Reason

PAGE = mmap.PAGESIZE


class Pixels:
    """Memory that two processes share, as large as the largest picture so far; one writes while the other waits.

    Args:
        descriptor: of an anonymous file; owned by whoever made it.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._memory: mmap.mmap | None = None

    def put(self, data: NDArray[Any]) -> None:
        """Copy a picture's array in."""
        if data.size:
            np.copyto(self._array(data.nbytes, data.dtype, data.shape, grow=True), data)

    def take(self, dtype: np.dtype[Any], shape: tuple[int, ...], memory: PictureMemory) -> NDArray[Any]:
        """Return a copy of what the other process has put there."""
        taken = memory.take(shape, dtype)
        np.copyto(taken, self._array(taken.nbytes, dtype, shape, grow=False))
        return taken

    def close(self) -> None:
        """Let go of the memory; the descriptor stays its owner's."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def _array(self, size: int, dtype: np.dtype[Any], shape: tuple[int, ...], *, grow: bool) -> NDArray[Any]:
        if self._memory is None or len(self._memory) < size:
            self.close()
            if grow:
                os.ftruncate(self._descriptor, -(-size // PAGE) * PAGE)
            self._memory = mmap.mmap(self._descriptor, 0)
        return np.frombuffer(self._memory, dtype, prod(shape)).reshape(shape)


def pack(picture: Picture, pixels: Pixels) -> dict[str, Any]:
    """Put a picture's pixels into shared memory; return the rest of it as plain values."""
    pixels.put(picture.data)
    return {
        "format": picture.format.value,
        "shape": picture.data.shape,
        "exposed_ns": picture.exposed_ns,
        "label": picture.label,
        "loop": picture.loop,
        "fault": None if picture.fault is None else [picture.fault.code.value, picture.fault.text],
    }


def unpack(header: dict[str, Any], pixels: Pixels, memory: PictureMemory) -> Picture:
    """Return the picture, its pixels copied to the memory that is given; it has arrived when they are here.

    The monotonic clock is one for all processes of a machine, so that the other times hold as they are.
    """
    pixel_format, shape = PixelFormat(header["format"]), tuple(header["shape"])
    data = pixels.take(pixel_format.dtype, shape, memory) if prod(shape) else NO_IMAGE
    fault = None if header["fault"] is None else Reason(Code(header["fault"][0]), header["fault"][1])
    exposed_ns = header["exposed_ns"]
    return Picture(data, exposed_ns, monotonic_ns(), header["label"], header["loop"], fault, pixel_format)


def line_of(answer: dict[str, Any]) -> bytes:
    """Return an answer as one line."""
    return json.dumps(answer).encode() + b"\n"


def planned(kind: str, text: str) -> TaktsightError:
    """Return the error that the other process told of: the same of ours, else a loss."""
    known = getattr(errors, kind, None)
    if isinstance(known, type) and issubclass(known, TaktsightError):
        return known(text)
    return SourceLost(f"the source failed in a way nobody foresaw: {kind}: {text}")
