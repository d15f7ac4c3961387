"""Picture to network input from every pixel format, beside BGR, and the two filters at a large reduction."""

from __future__ import annotations

from functools import partial

import cv2
import numpy as np

from app.bench.ratio import Timing, Way, measure
from app.bench.row import Row, ratio_row
from app.frame import AnyImage, PixelFormat, Pixels
from app.preprocess.cpu import CpuPreprocessor
from app.preprocess.input_spec import InputSpec
from app.preprocess.resample import Asked

FULL_HD, UHD = (1920, 1080), (3840, 2160)
FORMATS = (
    PixelFormat.BGR8,
    PixelFormat.GRAY8,
    PixelFormat.NV12,
    PixelFormat.YUYV,
    PixelFormat.BAYER_RGGB8,
    PixelFormat.BAYER_RGGB12,
)
FILTERS: tuple[Asked, ...] = ("linear", "area")


def picture(pixels: PixelFormat, size_wh: tuple[int, int]) -> AnyImage:
    """Return noise in a pixel format: no branch and no cache can guess it."""
    values = np.random.default_rng(1).integers(0, 1 << pixels.bits, pixels.shape(size_wh), np.uint16)
    data = values.astype(pixels.dtype)
    return data if pixels is PixelFormat.BGR8 else Pixels(data, pixels)


def way(image: AnyImage, resize: Asked) -> Way:
    """Return the product's way of one picture into 640 × 640 float32."""
    spec = InputSpec("images", 640, 640, resize=resize)
    return partial(CpuPreprocessor(spec).run, image, np.empty(spec.sample_shape, np.float32))


def rows(rounds: int) -> list[Row]:
    """Measure on one thread of OpenCV, as the product runs."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        formats = measure({one.value: way(picture(one, FULL_HD), "auto") for one in FORMATS}, rounds=rounds)
        large = picture(PixelFormat.BGR8, UHD)
        filters = measure({f"by {one}": way(large, one) for one in FILTERS}, rounds=rounds)
    finally:
        cv2.setNumThreads(threads)
    return [*_rows("pixel formats 1920×1080", formats), *_rows("3840×2160, shrunk by 6", filters)]


def _rows(part: str, timings: dict[str, Timing]) -> list[Row]:
    """Return one row for each, as a multiple of the first."""
    first = next(iter(timings.values()))
    return [ratio_row(part, what, timing, first, None) for what, timing in timings.items()]
