"""Any picture as BGR, or as one grey: the one place that says what each pixel format means."""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from app.frame import BAYER12_MOST, AnyImage, Image, PixelFormat, Pixels

_MARGIN_PX = 2
"""What a part needs around it so that it comes out as in the whole: a neighbour on each side, kept even."""

_CODES = {
    PixelFormat.GRAY8: cv2.COLOR_GRAY2BGR,
    PixelFormat.NV12: cv2.COLOR_YUV2BGR_NV12,
    PixelFormat.YUYV: cv2.COLOR_YUV2BGR_YUY2,
    # OpenCV names a pattern by its second row's second and third pixel; these are its newer, plain names.
    PixelFormat.BAYER_RGGB8: cv2.COLOR_BayerRGGB2BGR,
    PixelFormat.BAYER_GRBG8: cv2.COLOR_BayerGRBG2BGR,
    PixelFormat.BAYER_GBRG8: cv2.COLOR_BayerGBRG2BGR,
    PixelFormat.BAYER_BGGR8: cv2.COLOR_BayerBGGR2BGR,
    PixelFormat.BAYER_RGGB12: cv2.COLOR_BayerRGGB2BGR,
    PixelFormat.BAYER_GRBG12: cv2.COLOR_BayerGRBG2BGR,
    PixelFormat.BAYER_GBRG12: cv2.COLOR_BayerGBRG2BGR,
    PixelFormat.BAYER_BGGR12: cv2.COLOR_BayerBGGR2BGR,
}


class Bgr:
    """Turns pictures into BGR or grey in memory of its own, which the next picture uses again; one owner at a time."""

    def __init__(self) -> None:
        self._memory = {name: np.empty(0, np.uint8) for name in ("whole", "narrow", "part", "grey")}

    def of(self, image: AnyImage) -> Image:
        """Return uint8 (h, w, 3) BGR, borrowed until the next call; a BGR array is returned as it is.

        Of a part of a picture only the part is converted, and what it needs around it.
        """
        if not isinstance(image, Pixels):
            return image
        left, top, right, bottom = image.bounds
        if image.format is PixelFormat.BGR8:
            return image.data[top:bottom, left:right]
        x, y, data = self._around(image)
        whole = self._converted(data, image.format)
        return whole[top - y : bottom - y, left - x : right - x]

    def grey_of(self, image: AnyImage) -> NDArray[np.uint8]:
        """Return uint8 (h, w), borrowed until the next call: the luma of BT.601; a grey picture's own memory."""
        if isinstance(image, Pixels) and image.format is PixelFormat.GRAY8:
            left, top, right, bottom = image.bounds
            levels: NDArray[np.uint8] = image.data[top:bottom, left:right]
            return levels
        bgr = self.of(image)
        grey: NDArray[np.uint8] = self._scratch("grey", bgr.shape[:2], bgr.dtype)
        cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY, dst=grey)
        return grey

    def _converted(self, data: NDArray[Any], pixels: PixelFormat) -> Image:
        width, height = pixels.size_wh(data)
        whole = self._scratch("whole", (height, width, 3), data.dtype)
        cv2.cvtColor(data, _CODES[pixels], dst=whole)
        if data.dtype == np.uint8:
            return whole
        narrow: Image = self._scratch("narrow", whole.shape, np.dtype(np.uint8))
        # Not shifted by 4 bits: 4095 is white. More than that, which the guard refuses, is white too.
        cv2.convertScaleAbs(whole, dst=narrow, alpha=255 / BAYER12_MOST)
        return narrow

    def _scratch(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return memory of this shape, the same as last time where that is large enough."""
        size = math.prod(shape) * dtype.itemsize
        if self._memory[name].size < size:
            self._memory[name] = np.empty(size, np.uint8)
        return self._memory[name][:size].view(dtype).reshape(shape)

    def _around(self, image: Pixels) -> tuple[int, int, NDArray[Any]]:
        """Return the even place, and the memory, of the part with its margin; the picture's own where it is whole."""
        (left, top, right, bottom), (width, height) = image.bounds, image.whole_wh
        x, y = (max(0, (edge - _MARGIN_PX) & ~1) for edge in (left, top))
        far_x, far_y = min(right + _MARGIN_PX + 1 & ~1, width), min(bottom + _MARGIN_PX + 1 & ~1, height)
        # A strip at the edge of a Bayer picture may be too thin to be one.
        x, y = max(0, min(x, far_x - 4 & ~1)), max(0, min(y, far_y - 4 & ~1))
        if (x, y, far_x, far_y) == (0, 0, width, height):
            return 0, 0, image.data
        if image.format is not PixelFormat.NV12:
            return x, y, image.data[y:far_y, x:far_x]
        luma, chroma = image.data[y:far_y, x:far_x], image.data[height + y // 2 : height + far_y // 2, x:far_x]
        part = self._scratch("part", (len(luma) + len(chroma), far_x - x), luma.dtype)
        part[: len(luma)], part[len(luma) :] = luma, chroma
        return x, y, part


def to_bgr(image: AnyImage) -> Image:
    """Return a picture as uint8 (h, w, 3) BGR: a new array, or the same one where it is BGR already."""
    return Bgr().of(image)


def to_grey(image: AnyImage) -> NDArray[np.uint8]:
    """Return a picture as uint8 (h, w): a new array, or the same memory where it is grey already."""
    return Bgr().grey_of(image)
