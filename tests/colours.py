"""What each pixel format means, written out in whole numbers: what OpenCV must give, and the kernels do."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.frame import AnyImage, PixelFormat, Pixels

Whole = NDArray[np.int64]


def whole_bgr(image: AnyImage) -> Whole:
    """Return a picture as (h, w, 3) BGR, 0…255; of a part only the part."""
    if not isinstance(image, Pixels):
        return image.astype(np.int64)
    left, top, right, bottom = image.bounds
    return _whole(image.data.astype(np.int64), image.format)[top:bottom, left:right]


def whole_grey(image: AnyImage) -> Whole:
    """Return a picture as (h, w), 0…255: the luma of BT.601 in parts of 2^15."""
    grey: Whole = (whole_bgr(image) @ np.array([3735, 19235, 9798]) + (1 << 14)) >> 15
    return grey


def _whole(data: Whole, pixels: PixelFormat) -> Whole:
    match pixels:
        case PixelFormat.BGR8:
            return data
        case PixelFormat.GRAY8:
            return np.repeat(data[:, :, np.newaxis], 3, axis=2)
        case PixelFormat.NV12:
            height = len(data) // 3 * 2
            chroma = data[height:].reshape(height // 2, -1, 2).repeat(2, axis=0).repeat(2, axis=1)
            return _of_yuv(data[:height], chroma[..., 0], chroma[..., 1])
        case PixelFormat.YUYV:
            return _of_yuv(data[..., 0], data[:, 0::2, 1].repeat(2, axis=1), data[:, 1::2, 1].repeat(2, axis=1))
        case _:
            levels = _of_mosaic(data, pixels.bayer or "")
            return levels if pixels.bits == 8 else _of_twelve_bits(levels)


def _of_yuv(luma: Whole, blueness: Whole, redness: Whole) -> Whole:
    """BT.601 in video range, in parts of 2^20; what is blacker than black is black."""
    y, u, v = np.maximum(luma - 16, 0) * 1220542, blueness - 128, redness - 128
    sums = np.stack([y + 2116026 * u, y - 409993 * u - 852492 * v, y + 1673527 * v], axis=2)
    colours: Whole = np.clip((sums + (1 << 19)) >> 20, 0, 255)
    return colours


def _of_mosaic(data: Whole, pattern: str) -> Whole:
    """Give every pixel the mean of its nearest of each colour, halves up; those at the edge look as the one inside."""
    height, width = data.shape
    letters = np.array(list(pattern)).reshape(2, 2)
    colour = letters[np.arange(height)[:, np.newaxis] % 2, np.arange(width) % 2]
    own, beside = colour[1:-1, 1:-1], colour[1:-1, :-2]

    def neighbour(down: int, right: int) -> Any:
        return data[1 + down : height - 1 + down, 1 + right : width - 1 + right]

    across, upright = neighbour(0, -1) + neighbour(0, 1), neighbour(-1, 0) + neighbour(1, 0)
    corners = (neighbour(-1, -1) + neighbour(-1, 1) + neighbour(1, -1) + neighbour(1, 1) + 2) >> 2
    inner = [np.where(own == "g", neighbour(0, 0), (across + upright + 2) >> 2)]
    for letter in "br":
        around_green = np.where(beside == letter, across, upright) + 1 >> 1
        there = np.where(own == letter, neighbour(0, 0), np.where(own == "g", around_green, corners))
        inner.insert(0 if letter == "b" else 2, there)
    return np.pad(np.stack(inner, axis=2), ((1, 1), (1, 1), (0, 0)), mode="edge")


def _of_twelve_bits(levels: Whole) -> Whole:
    """4095 is white, and so is more; the factor is a float, and so is the product."""
    scaled: Whole = np.minimum(np.rint(levels.astype(np.float32) * np.float32(255 / 4095)), 255).astype(np.int64)
    return scaled
