"""Picture to network input without a rounding on the way, in plain numpy: the truth for ways that compute in floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.frame import BAYER12_MOST, AnyImage, PixelFormat, Pixels, size_of
from app.letterbox import Letterbox, fit
from app.preprocess.input_spec import InputSpec
from app.preprocess.resample import choose, weights

GREY_OF_BGR = (0.114, 0.587, 0.299)

Floats = NDArray[np.float64]


class ExactPreprocessor:
    """The reference's steps in float64; a kernel in float32 must come to within 1e-4 of it (of a range of 0 to 1).

    It differs from the reference, which rounds colours and sizes to whole values as the training tools do, by one grey
    level at most, and by one and a half where the colours had to be made first.
    """

    def __init__(self, spec: InputSpec) -> None:
        self.spec = spec

    def run(self, image: AnyImage, out: NDArray[Any]) -> Letterbox:
        """Fill `out` from a picture and return where it lies there."""
        spec = self.spec
        letterbox = fit(size_of(image), spec.network_wh, top_left=spec.top_left)
        (width, height), (small_w, small_h) = letterbox.image_wh, letterbox.resized_wh
        kind = choose(letterbox, spec.resize)
        rows, columns = weights(height, small_h, kind), weights(width, small_w, kind)
        small = np.stack([rows @ channel @ columns.T for channel in np.moveaxis(exact_bgr(image), 2, 0)], axis=2)
        padded = np.full((spec.height, spec.width, spec.channels), float(spec.pad_value))
        if spec.colour == "grey":
            padded[letterbox.inner] = (small @ GREY_OF_BGR)[:, :, np.newaxis]
        else:
            padded[letterbox.inner] = small[:, :, ::-1] if spec.colour == "rgb" else small
        out[:] = (padded.transpose(2, 0, 1) if spec.layout == "nchw" else padded) * spec.scale
        return letterbox


def exact_bgr(image: AnyImage) -> Floats:
    """Return a picture as float64 (h, w, 3) BGR, 0…255, not rounded; of a part only the part."""
    if not isinstance(image, Pixels):
        return image.astype(np.float64)
    left, top, right, bottom = image.bounds
    return _whole(image.data, image.format)[top:bottom, left:right]


def _whole(data: NDArray[Any], pixels: PixelFormat) -> Floats:
    match pixels:
        case PixelFormat.BGR8:
            return data.astype(np.float64)
        case PixelFormat.GRAY8:
            return np.repeat(data[:, :, np.newaxis].astype(np.float64), 3, axis=2)
        case PixelFormat.NV12:
            height = len(data) // 3 * 2
            chroma = data[height:].reshape(height // 2, -1, 2).repeat(2, axis=0).repeat(2, axis=1)
            return _of_yuv(data[:height], chroma[..., 0], chroma[..., 1])
        case PixelFormat.YUYV:
            return _of_yuv(data[..., 0], data[:, 0::2, 1].repeat(2, axis=1), data[:, 1::2, 1].repeat(2, axis=1))
        case _:
            most = BAYER12_MOST if pixels.bits > 8 else 255  # noqa: PLR2004 - bits of a byte
            return np.minimum(_of_mosaic(data.astype(np.float64), pixels.bayer or "") * (255 / most), 255)


def _of_yuv(luma: NDArray[Any], blueness: NDArray[Any], redness: NDArray[Any]) -> Floats:
    """BT.601 in video range; what is blacker than black is black."""
    y = 1.164383 * np.maximum(luma.astype(np.float64) - 16, 0)
    u, v = blueness.astype(np.float64) - 128, redness.astype(np.float64) - 128
    return np.clip(np.stack([y + 2.017232 * u, y - 0.391762 * u - 0.812968 * v, y + 1.596027 * v], axis=2), 0, 255)


def _of_mosaic(data: Floats, pattern: str) -> Floats:
    """Give every pixel the mean of its nearest pixels of each colour; those at the edge look as the one inside does."""
    height, width = data.shape
    letters = np.array(list(pattern)).reshape(2, 2)
    colour = letters[np.arange(height)[:, np.newaxis] % 2, np.arange(width) % 2]
    own, beside = colour[1:-1, 1:-1], colour[1:-1, :-2]

    def neighbour(down: int, right: int) -> Floats:
        return data[1 + down : height - 1 + down, 1 + right : width - 1 + right]

    across = (neighbour(0, -1) + neighbour(0, 1)) / 2
    upright = (neighbour(-1, 0) + neighbour(1, 0)) / 2
    corners = (neighbour(-1, -1) + neighbour(-1, 1) + neighbour(1, -1) + neighbour(1, 1)) / 4
    inner = [np.where(own == "g", neighbour(0, 0), (across + upright) / 2)]
    for letter in "br":
        around_green = np.where(beside == letter, across, upright)
        there = np.where(own == letter, neighbour(0, 0), np.where(own == "g", around_green, corners))
        inner.insert(0 if letter == "b" else 2, there)
    return np.pad(np.stack(inner, axis=2), ((1, 1), (1, 1), (0, 0)), mode="edge")
