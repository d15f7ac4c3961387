"""What of a picture's brightness the checks look at first, in any pixel format: a grid of some points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.frame import BAYER12_MOST, Picture, PixelFormat

POINTS = 32
"""At least so many rows and columns are in the grid, however large the picture: for each point memory is waited for."""
COARSE = 16
"""What looks at whole rows or columns takes every sixteenth, or more where there would be too few."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The brightness of one picture.

    Attributes:
        whole: (h, w) or, of BGR, (h, w, 3); a view of the picture.
        grid: some 1,000 to 4,000 points of it, new and contiguous; of a Bayer picture green pixels only.
        step: pixels between two rows or columns for what looks at whole ones.
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
    down, right = (max(apart, side // POINTS // apart * apart) for side in whole.shape[:2])
    grid = np.ascontiguousarray(whole[::down, first::right])
    step = min(COARSE, down, right)
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
