"""Whether a camera gives the same picture again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.capture.sample import Sample
from app.frame import NO_IMAGE, Picture

HANGS_AFTER = 10
"""A source that has been frozen for so many times the pictures that mean frozen is taken for lost."""


class Frozen:
    """Counts how often one picture has come in a row.

    Args:
        after: identical pictures in a row that mean frozen.
    """

    def __init__(self, after: int) -> None:
        self._after = after
        self._data: NDArray[Any] = NO_IMAGE
        self._grid: NDArray[Any] = NO_IMAGE
        self.repeats = 0

    @property
    def is_so(self) -> bool:
        """Whether the same picture has come too often."""
        return self.repeats >= self._after

    @property
    def hangs(self) -> bool:
        """Whether it has come for so long that the source should be opened again."""
        return self.repeats >= HANGS_AFTER * self._after

    def see(self, picture: Picture, sample: Sample) -> None:
        """Compare a picture with the one before, which is kept, not copied; noise on a few pixels is a difference."""
        same = np.array_equal(self._grid, sample.grid) and np.array_equal(self._data, picture.data)
        self.repeats = self.repeats + 1 if same else 1
        self._data, self._grid = picture.data, sample.grid

    def forget(self) -> None:
        """Take a picture that was refused for another reason, which may well come again: black is black."""
        self._data, self._grid, self.repeats = NO_IMAGE, NO_IMAGE, 0

    def reopened(self) -> None:
        """Count on from here: a camera that hangs still gives the same picture when it is opened again."""
        self.repeats = min(self.repeats, self._after)
