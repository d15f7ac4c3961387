"""A generated picture with a bright rectangle that moves: a source that needs no file and whose truth is known."""

from __future__ import annotations

from time import monotonic_ns
from types import TracebackType

import numpy as np
from typing_extensions import Self

from app.capture.ticker import Ticker
from app.config.sections import SyntheticSource
from app.errors import EndOfStream
from app.frame import Image, Picture
from app.picture_memory import PictureMemory

BACKGROUND, BRIGHT = 64, 224
STEP_PX = 5


def rectangle_xyxy(index: int, size_wh: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return where the rectangle lies in picture `index`, whole pixels, the far edge not included."""
    width, height = size_wh
    wide, high = max(1, width // 4), max(1, height // 4)
    x = index * STEP_PX % max(1, width - wide)
    y = (height - high) // 2
    return x, y, x + wide, y + high


def draw(index: int, size_wh: tuple[int, int], memory: PictureMemory | None = None) -> Image:
    """Return picture `index`, uint8 (h, w, 3), the caller's own."""
    width, height = size_wh
    shape = height, width, 3
    image_hwc = np.empty(shape, np.uint8) if memory is None else memory.take(shape)
    image_hwc.fill(BACKGROUND)
    x1, y1, x2, y2 = rectangle_xyxy(index, size_wh)
    image_hwc[y1:y2, x1:x2] = BRIGHT
    return image_hwc


class Synthetic:
    """The moving rectangle as a camera; the label names the picture's number, from which the truth follows."""

    def __init__(self, section: SyntheticSource) -> None:
        self._section = section
        self._memory = PictureMemory()
        self._size_wh = (section.width, section.height)
        self._ticker = Ticker(section.fps, section.paced)

    def __enter__(self) -> Self:
        """Start at picture 0."""
        self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is held."""

    @property
    def missed(self) -> int:
        """Pictures that were read too late and so never taken."""
        return self._ticker.missed

    def read(self, timeout_s: float) -> Picture | None:
        """Return the next picture, drawn when it is due."""
        tick = self._ticker.tick(timeout_s)
        if tick is None:
            return None
        index, exposed_ns = tick
        if self._section.frames and index >= self._section.frames:
            raise EndOfStream(f"the last of {self._section.frames} generated pictures was read")
        return Picture(draw(index, self._size_wh, self._memory), exposed_ns, monotonic_ns(), f"picture {index}")
