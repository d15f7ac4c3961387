"""The last minute's samples, second by second, so that windows slide and nothing is averaged."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator

from app.latency.histogram import Histogram
from app.latency.percentiles import Percentiles, percentiles

EXACT_IN_A_SECOND = 1_000
"""Samples of one second that are kept one by one; what is more is counted in buckets."""

LONGEST_WINDOW_S = 60
"""Seconds that are kept; no window is longer."""


class Second:
    """What was measured within one second of the monotonic clock.

    Attributes:
        at_s: which second, counted from the clock's zero.
        overflow: what came after `EXACT_IN_A_SECOND` samples; None almost always.
    """

    __slots__ = ("at_s", "overflow", "samples_ms")

    def __init__(self, at_s: int) -> None:
        self.at_s = at_s
        self.samples_ms = array("d")
        self.overflow: Histogram | None = None

    def add(self, sample_ms: float) -> None:
        """Take one sample."""
        if len(self.samples_ms) < EXACT_IN_A_SECOND:
            self.samples_ms.append(sample_ms)
            return
        self.overflow = self.overflow or Histogram()
        self.overflow.add(sample_ms)

    def histograms(self) -> Iterator[Histogram]:
        """Yield histograms that together hold all its samples."""
        yield Histogram.of(self.samples_ms)
        if self.overflow is not None:
            yield self.overflow


class Minute:
    """Times in milliseconds that are forgotten after a minute; memory is bounded. Not thread-safe."""

    def __init__(self) -> None:
        self._seconds: deque[Second] = deque()

    def add(self, sample_ms: float, at_ns: int) -> None:
        """Take one time, which is finite and not negative, that was measured at `at_ns`."""
        at_s = at_ns // 1_000_000_000
        # Two threads may hand over in another order than they measured: the newest second takes what is a bit older.
        if not self._seconds or self._seconds[-1].at_s < at_s:
            self._seconds.append(Second(at_s))
            while self._seconds[0].at_s < at_s - LONGEST_WINDOW_S:
                self._seconds.popleft()
        self._seconds[-1].add(sample_ms)

    def window(self, now_ns: int, window_s: int) -> list[Second]:
        """Return the full seconds of the last `window_s`; the one that is running is not among them.

        So windows that are asked for once in their own length fit together without a gap, and count nothing twice.
        """
        assert 0 < window_s <= LONGEST_WINDOW_S, window_s
        now_s = now_ns // 1_000_000_000
        return [second for second in self._seconds if now_s - window_s <= second.at_s < now_s]


def of_seconds(seconds: Iterable[Second]) -> tuple[Percentiles, bool]:
    """Return the percentiles of all samples of these seconds together, and whether they are exact."""
    kept = list(seconds)
    if all(second.overflow is None for second in kept):
        return percentiles(*(second.samples_ms for second in kept)), True
    return Histogram.merged(part for second in kept for part in second.histograms()).percentiles(), False
