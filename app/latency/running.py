"""A percentile of the last samples, kept up to date."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque

from app.latency.percentiles import rank


class Running:
    """The last samples of one quantity; not thread-safe.

    Args:
        window: how many of them count.
        percent: which percentile, as `app.latency.percentiles.rank` takes it.
    """

    def __init__(self, window: int, percent: str) -> None:
        self._window = window
        self._samples: deque[float] = deque()
        self._ordered: list[float] = []
        self._ranks = [0, *(rank(count, percent) for count in range(1, window + 1))]

    def __len__(self) -> int:
        return len(self._ordered)

    @property
    def value(self) -> float:
        """The percentile by nearest rank; 0 without samples."""
        return self._ordered[self._ranks[len(self._ordered)] - 1] if self._ordered else 0.0

    def add(self, sample: float) -> None:
        """Take one sample; the oldest goes where there are too many."""
        if len(self._samples) == self._window:
            del self._ordered[bisect_left(self._ordered, self._samples.popleft())]
        self._samples.append(sample)
        insort(self._ordered, sample)

    def clear(self) -> None:
        """Forget all samples."""
        self._samples.clear()
        self._ordered.clear()
