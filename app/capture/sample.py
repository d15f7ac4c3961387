"""What of a picture's brightness the checks look at first, in any pixel format: every so many rows and columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.frame import BAYER12_MOST, Picture, PixelFormat

FINE, COARSE = 32, 16
"""At least so many rows and columns are looked at, and every sixteenth: some 8,000 points of a 1080p picture."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The brightness of one picture.

    Attributes:
        whole: (h, w) or, of BGR, (h, w, 3); a view of the picture.
        grid: every `step` rows and columns of it, new and contiguous; of a Bayer picture green pixels only.
        step: pixels between two points.
        apart: pixels between two neighbours of one colour.
        dark: the value that is black.
        unit: how much the value grows with one grey level of 255.
    """

    whole: NDArray[Any]
    grid: NDArray[Any]
    step: int
    apart: int
    dark: float
    unit: float

    def value(self, level: float) -> float:
        """Return the value that means a grey level of 0…255."""
        return self.dark + level * self.unit

    @property
    def rows(self) -> NDArray[Any]:
        """Every `step` rows, whole, of one colour; a view."""
        lines = self.whole[:: self.step]
        return lines[..., 1] if lines.ndim > 2 else lines[:, :: self.apart]  # noqa: PLR2004 - green of BGR


def sample_of(picture: Picture) -> Sample:
    """Look at a picture that is not empty."""
    pattern = picture.format.bayer
    whole, dark, unit = _light(picture)
    apart, first = (1, 0) if pattern is None else (2, pattern.index("g") % 2)
    step = max(apart, min(whole.shape[:2]) // FINE // apart * apart)
    step = min(COARSE, step)
    grid = np.ascontiguousarray(whole[::step, first::step])
    return Sample(whole, grid, step, apart, dark, unit)


def _light(picture: Picture) -> tuple[NDArray[Any], float, float]:
    """Return what of a picture tells its brightness, the value of black, and the value of one grey level."""
    match picture.format:
        case PixelFormat.NV12:
            return picture.data[: picture.size_wh[1]], 16.0, (235 - 16) / 255
        case PixelFormat.YUYV:
            return picture.data[..., 0], 16.0, (235 - 16) / 255
        case _:
            return picture.data, 0.0, (BAYER12_MOST if picture.data.dtype == np.uint16 else 255) / 255
