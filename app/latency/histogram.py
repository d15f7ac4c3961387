"""Counts times in buckets of equal ratio: constant memory, and one error bound for short and long times."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable

from app.latency.percentiles import PERCENTS, Percentiles, rank

PER_DECADE = 26
"""Buckets for each factor of ten: a bucket's ends are 9.3 % apart."""

LOWEST_MS = 0.01
LIMIT_MS = 10_000.0

BOUNDS_MS = tuple(
    LOWEST_MS * 10 ** (step / PER_DECADE) for step in range(round(math.log10(LIMIT_MS / LOWEST_MS)) * PER_DECADE + 1)
)
"""The upper end of each bucket, inclusive; what is longer than the last is counted as over the limit."""


class Histogram:
    """Times in milliseconds; not thread-safe.

    Attributes:
        counts: for each of `BOUNDS_MS`, and one more for what is over the limit.
        refused: samples that are no time: negative, or not finite.
    """

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_MS) + 1)
        self.total_ms = 0.0
        self.max_ms = 0.0
        self.refused = 0

    @property
    def count(self) -> int:
        """How many samples were taken."""
        return sum(self.counts)

    @property
    def mean_ms(self) -> float:
        """The exact mean; 0 without samples."""
        return min(self.total_ms / self.count, self.max_ms) if self.count else 0.0

    def add(self, sample_ms: float) -> None:
        """Count one sample."""
        if not 0 <= sample_ms < math.inf:
            self.refused += 1
            return
        self.counts[bisect_left(BOUNDS_MS, sample_ms)] += 1
        self.total_ms += sample_ms
        self.max_ms = max(self.max_ms, sample_ms)

    def percentile(self, percent: str) -> float:
        """Return the upper end of the bucket with the percentile, at most 10 % too long; infinite if over the limit."""
        if self.count == 0:
            return 0.0
        left = rank(self.count, percent)
        for bucket, counted in enumerate(self.counts[:-1]):
            left -= counted
            if left <= 0:
                return min(BOUNDS_MS[bucket], self.max_ms)
        return math.inf

    def percentiles(self) -> Percentiles:
        """Return the percentiles as far as the buckets tell them; the maximum is exact."""
        p50, p90, p95, p99, p999 = (self.percentile(percent) for percent in PERCENTS)
        return Percentiles(self.count, p50, p90, p95, p99, p999, self.max_ms)

    @classmethod
    def of(cls, samples_ms: Iterable[float]) -> Histogram:
        """Return the histogram of these samples."""
        made = cls()
        for sample_ms in samples_ms:
            made.add(sample_ms)
        return made

    @classmethod
    def merged(cls, histograms: Iterable[Histogram]) -> Histogram:
        """Return one histogram of all samples."""
        whole = cls()
        for histogram in histograms:
            whole.counts = [a + b for a, b in zip(whole.counts, histogram.counts, strict=True)]
            whole.total_ms += histogram.total_ms
            whole.max_ms = max(whole.max_ms, histogram.max_ms)
            whole.refused += histogram.refused
        return whole


def text_ms(value_ms: float) -> str:
    """Return a time for a table: `3.0`, or `> 10000` where the buckets end."""
    return f"> {LIMIT_MS:.0f}" if value_ms > LIMIT_MS else f"{value_ms:.1f}"
