"""How large a tensor's values get: counted in one pass, picture after picture, whatever range it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 8192
"""An even number: where the range doubles, two bins become one."""


class Histogram:
    """Counts absolute values in equal bins from zero up; the range doubles when a value lies beyond it.

    Attributes:
        counts: int64 (BINS,).
        top: where the last bin ends; 0 until a value other than zero has come.
        largest: the largest absolute value.
    """

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros(BINS, np.int64)
        self.top = 0.0
        self.largest = 0.0

    @property
    def step(self) -> float:
        """The width of a bin."""
        return self.top / BINS

    def add(self, values: NDArray[Any]) -> None:
        """Count values of any shape.

        Raises:
            ValueError: one is not finite.
        """
        sizes = np.abs(np.asarray(values, np.float32)).ravel()
        largest = float(sizes.max(initial=0.0))
        if not np.isfinite(largest):
            raise ValueError("a value is not finite")
        self.largest = max(self.largest, largest)
        self._make_room(largest)
        if self.top == 0.0:
            self.counts[0] += sizes.size
            return
        # In float64: the number of bins over a range of 1e-38 is no float32.
        bins = np.minimum((np.divide(sizes, self.top, dtype=np.float64) * BINS).astype(np.int32), BINS - 1)
        self.counts += np.bincount(bins, minlength=BINS)

    def _make_room(self, largest: float) -> None:
        if self.top == 0.0:
            self.top = largest
        while largest > self.top:
            pairs = self.counts.reshape(-1, 2).sum(axis=1)
            self.counts[: BINS // 2], self.counts[BINS // 2 :] = pairs, 0
            self.top *= 2
