"""Which memory a picture is a part of, so that the whole lies on the GPU once and its parts are cut out there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.frame import AnyImage, Image, PixelFormat, Pixels

_HWC = 3  # axes of a BGR picture


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of a whole picture, or all of it.

    Attributes:
        data: of the whole, C-contiguous, as its format says.
        whole_wh: its width and height in pixels.
        corner_xy: the part's left upper pixel in it.
        size_wh: the part's width and height.
    """

    data: NDArray[Any]
    format: PixelFormat
    whole_wh: tuple[int, int]
    corner_xy: tuple[int, int]
    size_wh: tuple[int, int]

    @property
    def is_whole(self) -> bool:
        """Whether nothing was cut away."""
        return self.size_wh == self.whole_wh


def part_of(image: AnyImage) -> Part:
    """Return where a picture lies in its whole.

    A BGR part is a view; what it is a view of is found, and only a view of nothing known is copied.
    """
    if isinstance(image, Pixels):
        left, top, _, _ = image.bounds
        return Part(image.data, image.format, image.whole_wh, (left, top), image.size_wh)
    size_wh = image.shape[1], image.shape[0]
    whole = _whole_of(image)
    if whole is None:
        data = np.ascontiguousarray(image)
        return Part(data, PixelFormat.BGR8, size_wh, (0, 0), size_wh)
    begin = image.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    top, left = divmod(begin, whole.strides[0])
    return Part(whole, PixelFormat.BGR8, (whole.shape[1], whole.shape[0]), (left // _HWC, top), size_wh)


def _whole_of(image: Image) -> NDArray[Any] | None:
    """Return the whole picture that a BGR array is rows and columns of; None where it is one itself, or unknown."""
    whole = image.base
    if not isinstance(whole, np.ndarray) or whole.dtype != np.uint8:
        return None
    fits = whole.ndim == _HWC and whole.shape[2] == _HWC and whole.flags.c_contiguous
    return whole if fits and whole.strides == image.strides else None
