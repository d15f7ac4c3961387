"""One captured picture, its times and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.verdict import Reason

Image: TypeAlias = NDArray[np.uint8]
"""A picture: uint8, (height, width, 3), channels B, G, R, C-contiguous rows."""

NO_IMAGE: Image = np.zeros((0, 0, 3), np.uint8)
"""Stands for a picture that could not be decoded; always goes with a fault."""


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """What a source read: pixels (or the reason why there are none) and when they came to be.

    Attributes:
        image_hwc: uint8 (h, w, 3) BGR, owned by the picture and not written to again; `NO_IMAGE` where none could be
            had.
        exposed_ns: the time nearest to the sensor that the source knows, on `time.monotonic_ns`.
        arrived_ns: when the pixels were in memory, on `time.monotonic_ns`.
        label: what people call it: a file's name, a position on the belt; empty for a plain camera frame.
        loop: how many times the source has started again from its beginning.
        fault: why it can't be judged (torn, wrong size, …), or None.
    """

    image_hwc: Image
    exposed_ns: int
    arrived_ns: int
    label: str = ""
    loop: int = 0
    fault: Reason | None = None

    @property
    def size_wh(self) -> tuple[int, int]:
        """Width and height in pixels; (0, 0) where there is no picture."""
        return self.image_hwc.shape[1], self.image_hwc.shape[0]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A picture of one camera with its place in that camera's sequence.

    Attributes:
        camera: the camera's name in the configuration.
        seq: counts this camera's frames from 1 since the service started; a gap is a lost frame.
        queued_ns: when it was handed over to be inspected, on `time.monotonic_ns`.
    """

    camera: str
    seq: int
    picture: Picture
    queued_ns: int

    @property
    def image_hwc(self) -> Image:
        """The pixels, uint8 (h, w, 3) BGR."""
        return self.picture.image_hwc
