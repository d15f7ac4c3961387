"""Frames for tests that need one without a camera."""

from time import monotonic_ns

import numpy as np

from app.frame import Frame, Picture


def frame(seq: int = 1, camera: str = "front", exposed_ns: int | None = None) -> Frame:
    """A small grey frame."""
    now = monotonic_ns() if exposed_ns is None else exposed_ns
    picture = Picture(np.full((4, 6, 3), 99, np.uint8), now, now)
    return Frame(camera, seq, picture, now)
