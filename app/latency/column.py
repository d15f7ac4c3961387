"""The samples of one column of one camera: since the start, and of the last minute."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable

from app.latency.histogram import Histogram
from app.latency.minute import Minute
from app.latency.percentiles import Percentiles, percentiles

EXACT_SAMPLES = 10_000
"""Samples since the start that are kept one by one; from the next one on their percentiles come from the buckets."""


class Column:
    """Times of one kind in milliseconds; memory is bounded, however many come. Not thread-safe.

    Attributes:
        samples_ms: the first `EXACT_SAMPLES` since the start.
        histogram: of all since the start.
        minute: the last minute's.
    """

    def __init__(self) -> None:
        self.samples_ms = array("d")
        self.histogram = Histogram()
        self.minute = Minute()

    def add(self, sample_ms: float, at_ns: int) -> None:
        """Take one sample that was measured at `at_ns`; what is no time is counted as refused and kept nowhere."""
        if not 0 <= sample_ms < math.inf:
            self.histogram.refused += 1
            return
        self.histogram.add(sample_ms)
        if len(self.samples_ms) < EXACT_SAMPLES:
            self.samples_ms.append(sample_ms)
        self.minute.add(sample_ms, at_ns)


def since_start(columns: Iterable[Column]) -> tuple[Percentiles, bool]:
    """Return the percentiles of all samples of these columns together, and whether they are exact."""
    kept = list(columns)
    if all(column.histogram.count == len(column.samples_ms) for column in kept):
        return percentiles(*(column.samples_ms for column in kept)), True
    return Histogram.merged(column.histogram for column in kept).percentiles(), False
