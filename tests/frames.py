"""Frames for tests that need one without a camera."""

from time import monotonic_ns

import numpy as np

from app.frame import AnyImage, Frame, Picture, PixelFormat, Pixels


def frame(seq: int = 1, camera: str = "front", exposed_ns: int | None = None) -> Frame:
    """A small grey frame."""
    now = monotonic_ns() if exposed_ns is None else exposed_ns
    picture = Picture(np.full((4, 6, 3), 99, np.uint8), now, now)
    return Frame(camera, seq, picture, now)


def raw_picture(pixels: PixelFormat, size_wh: tuple[int, int], seed: int = 0) -> AnyImage:
    """A picture of noise in any pixel format, every value that the format has; a plain array where it is BGR."""
    values = np.random.default_rng(seed).integers(0, 1 << pixels.bits, pixels.shape(size_wh))
    data = values.astype(pixels.dtype)
    return data if pixels is PixelFormat.BGR8 else Pixels(data, pixels)
