"""How much repeated measurements differ, and how much that blurs their median."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import median, stdev

TO_SIGMA = 1.4826
"""Median absolute deviation to standard deviation, for normal noise."""
OF_MEDIAN = 1.2533
"""The standard error of a median is so many times that of a mean."""


def spread(values: Sequence[float]) -> float:
    """Return the median absolute deviation, scaled to a standard deviation; one outlier does not move it."""
    middle = median(values)
    return TO_SIGMA * median(abs(value - middle) for value in values)


def error_of_median(values: Sequence[float]) -> float:
    """Return how far the median of a few passes is likely to be off, as a standard deviation.

    Of so few values the median absolute deviation is often close to none by chance, so a quarter of the standard
    deviation is the least that is taken; more would let one disturbed pass blur all. A single value says nothing of its
    error, so that a tenth is assumed.
    """
    if len(values) == 1:
        return abs(values[0]) / 10
    return OF_MEDIAN * max(spread(values), stdev(values) / 4) / sqrt(len(values))
