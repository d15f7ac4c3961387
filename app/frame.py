"""One captured picture in the camera's own pixel format, its times and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.verdict import Reason

Image: TypeAlias = NDArray[np.uint8]
"""A picture: uint8, (height, width, 3), channels B, G, R, C-contiguous rows."""

NO_IMAGE: Image = np.zeros((0, 0, 3), np.uint8)
"""Stands for a picture that could not be decoded; always goes with a fault."""

BAYER12_MOST = 4095
"""The highest value of a 12-bit pixel."""


class PixelFormat(str, Enum):
    """How a picture's pixels lie in memory; the shape and type of its array for each.

    A Bayer format is named after its first four pixels: two of the first row, then the two below them. YUV is BT.601 in
    video range (luma 16…235, chroma 16…240 around 128), and a pixel takes the chroma sample of its own pair or square,
    not one in between. `app/bgr.py` is the only place that turns one into BGR; what it gives is what each one means.
    """

    BGR8 = "bgr8"  # uint8 (h, w, 3): B, G, R
    GRAY8 = "gray8"  # uint8 (h, w)
    NV12 = "nv12"  # uint8 (h * 3/2, w): h rows of luma, then h/2 rows U, V, U, V, …; h and w even
    YUYV = "yuyv"  # uint8 (h, w, 2): luma, and U in even or V in odd columns; w even
    BAYER_RGGB8 = "bayer_rggb8"  # uint8 (h, w), one colour a pixel; h and w at least 3
    BAYER_GRBG8 = "bayer_grbg8"
    BAYER_GBRG8 = "bayer_gbrg8"
    BAYER_BGGR8 = "bayer_bggr8"
    BAYER_RGGB12 = "bayer_rggb12"  # uint16 (h, w), 0…4095 in the low bits
    BAYER_GRBG12 = "bayer_grbg12"
    BAYER_GBRG12 = "bayer_gbrg12"
    BAYER_BGGR12 = "bayer_bggr12"

    @property
    def bayer(self) -> str | None:
        """The pattern's four letters (`rggb`), or None."""
        return self.value[6:10] if self.value.startswith("bayer_") else None

    @property
    def bits(self) -> int:
        """Used bits of a value: 12 of the uint16 formats, 8 of all others."""
        return 12 if self.value.endswith("12") and self.bayer else 8

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the array's values."""
        return np.dtype(np.uint16 if self.bits > 8 else np.uint8)  # noqa: PLR2004 - bits of a byte

    def shape(self, size_wh: tuple[int, int]) -> tuple[int, ...]:
        """Return the shape that the array of a picture of this size has."""
        width, height = size_wh
        match self:
            case PixelFormat.BGR8:
                return height, width, 3
            case PixelFormat.NV12:
                return height // 2 * 3, width
            case PixelFormat.YUYV:
                return height, width, 2
            case _:
                return height, width

    def size_wh(self, data: NDArray[Any]) -> tuple[int, int]:
        """Return the picture's width and height in pixels.

        Raises:
            ValueError: an array of this type and shape is no picture of this format.
        """
        size_wh = (data.shape[1], data.shape[0]) if data.ndim > 1 else (0, 0)
        if self is PixelFormat.NV12:
            size_wh = (size_wh[0], size_wh[1] // 3 * 2)
        if data.dtype != self.dtype or data.shape != self.shape(size_wh) or not self._divides(size_wh):
            raise ValueError(f"{self.value}: an array {data.dtype} {data.shape} is no picture of this format")
        return size_wh

    def _divides(self, size_wh: tuple[int, int]) -> bool:
        """Whether a format that shares chroma, or has one colour a pixel, can have this size."""
        if self.bayer:
            return min(size_wh) > 2  # noqa: PLR2004 - each pixel's colours come from its eight neighbours
        return not (self in (PixelFormat.NV12, PixelFormat.YUYV) and size_wh[0] % 2)


@dataclass(frozen=True, slots=True, eq=False)
class Pixels:
    """A picture that is not BGR, or a part of it: its memory as the camera gave it, and what of it is meant.

    A part is not cut out: in most formats a pixel's colour takes its neighbours. What a part looks like is that part of
    the whole picture in BGR, to the last bit; what lies around it is not looked at when it is resized.

    Attributes:
        data: C-contiguous, of the whole picture, shape and type as its format says; not written to.
        region: left, top, right, bottom of the part in pixels, far edges not included; None: all of it.
    """

    data: NDArray[Any]
    format: PixelFormat
    region: tuple[int, int, int, int] | None = None

    def __post_init__(self) -> None:
        """Refuse an array that is no picture of its format, which would be misread, and a part outside of it.

        Raises:
            ValueError: it is one.
        """
        width, height = self.whole_wh
        if not self.data.flags.c_contiguous:
            raise ValueError(f"{self.format.value}: rows must follow one another without gaps; copy them")
        left, top, right, bottom = self.bounds
        if not (0 <= left <= right <= width and 0 <= top <= bottom <= height):
            raise ValueError(f"region {self.region} is not inside a picture of {width}x{height}")

    @property
    def whole_wh(self) -> tuple[int, int]:
        """Width and height of the whole picture in pixels."""
        return self.format.size_wh(self.data)

    @property
    def bounds(self) -> tuple[int, int, int, int]:
        """Left, top, right, bottom of the part."""
        return self.region or (0, 0, *self.whole_wh)

    @property
    def size_wh(self) -> tuple[int, int]:
        """Width and height of the part in pixels."""
        left, top, right, bottom = self.bounds
        return right - left, bottom - top

    def crop(self, region: tuple[int, int, int, int]) -> Pixels:
        """Return a part of this part, in its own pixels; nothing is copied."""
        x, y, _, _ = self.bounds
        left, top, right, bottom = region
        return Pixels(self.data, self.format, (left + x, top + y, right + x, bottom + y))


AnyImage: TypeAlias = Image | Pixels
"""A picture or a part of one in any format; a plain array is BGR."""


def size_of(image: AnyImage) -> tuple[int, int]:
    """Return width and height in pixels."""
    return image.size_wh if isinstance(image, Pixels) else (image.shape[1], image.shape[0])


def crop(image: AnyImage, region: tuple[int, int, int, int]) -> AnyImage:
    """Return the part from left, top to right, bottom (not included): a view, nothing is copied."""
    if isinstance(image, Pixels):
        return image.crop(region)
    left, top, right, bottom = region
    return image[top:bottom, left:right]


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """What a source read: pixels (or the reason why there are none) and when they came to be.

    Attributes:
        data: as `format` says, most often uint8 (h, w, 3) BGR; owned by the picture and not written to again;
            `NO_IMAGE` where none could be had.
        exposed_ns: the time nearest to the sensor that the source knows, on `time.monotonic_ns`.
        arrived_ns: when the pixels were in memory, on `time.monotonic_ns`.
        label: what people call it: a file's name, a position on the belt; empty for a plain camera frame.
        loop: how many times the source has started again from its beginning.
        fault: why it can't be judged (torn, wrong size, …), or None.
        format: how the pixels lie in `data`.
    """

    data: NDArray[Any]
    exposed_ns: int
    arrived_ns: int
    label: str = ""
    loop: int = 0
    fault: Reason | None = None
    format: PixelFormat = PixelFormat.BGR8

    def __post_init__(self) -> None:
        """Refuse pixels that would be misread.

        Raises:
            ValueError: they are not laid out as the format says.
        """
        if self.format is not PixelFormat.BGR8:
            Pixels(self.data, self.format)

    @property
    def image(self) -> AnyImage:
        """The pixels: a plain array where they are BGR."""
        return self.data if self.format is PixelFormat.BGR8 else Pixels(self.data, self.format)

    @property
    def image_hwc(self) -> Image:
        """The pixels of a picture that is known to be BGR, uint8 (h, w, 3)."""
        assert self.format is PixelFormat.BGR8, f"a picture in {self.format.value} has no BGR; see app/bgr.py"
        return self.data

    @property
    def size_wh(self) -> tuple[int, int]:
        """Width and height in pixels, whatever the format; (0, 0) where there is no picture."""
        return size_of(self.image)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A picture of one camera with its place in that camera's sequence.

    Attributes:
        camera: the camera's name in the configuration.
        seq: counts this camera's frames from 1 since the service started; a gap is a lost frame.
        queued_ns: when it was handed over to be inspected, on `time.monotonic_ns`.
        trigger: the id of the command that asked for it; empty where none did.
    """

    camera: str
    seq: int
    picture: Picture
    queued_ns: int
    trigger: str = ""

    @property
    def image(self) -> AnyImage:
        """The pixels in the camera's own format; a plain array where they are BGR."""
        return self.picture.image

    @property
    def image_hwc(self) -> Image:
        """The pixels of a frame that is known to be BGR, uint8 (h, w, 3)."""
        return self.picture.image_hwc
