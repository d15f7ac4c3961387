"""Where a tensor's INT8 range ends, found from how often which values occur; what lies beyond is cut off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.building.int8.histogram import BINS, Histogram

Threshold: TypeAlias = Callable[[Histogram], float]
Floats: TypeAlias = NDArray[np.float64]

LEVELS = 128
"""Of a symmetric INT8 range on one side of zero, zero included."""
_ENDS: list[int] = np.unique(np.geomspace(LEVELS, BINS, 128).round().astype(int)).tolist()
"""Tried by the entropy, in bins: each a few percent beyond the one before."""


def min_max(histogram: Histogram) -> float:
    """Cut off nothing."""
    return histogram.largest


def percentile(histogram: Histogram, percent: float) -> float:
    """Cut off all but so many percent of the values."""
    total = int(histogram.counts.sum())
    if total == 0:
        return histogram.largest
    within = np.cumsum(histogram.counts)
    last = int(np.searchsorted(within, total * percent / 100))
    return min((last + 1) * histogram.step, histogram.largest)


def entropy(histogram: Histogram) -> float:
    """Choose the end that keeps the distribution most alike, by its Kullback-Leibler divergence.

    As TensorRT's own calibrator does it: values beyond the end are counted in the last bin of the wanted distribution,
    and are missing in the one that 128 levels can tell.
    """
    counts = histogram.counts.astype(np.float64)
    counts[0] = counts[1]  # zeros have no error at any scale, and there are more of them than of anything
    if counts.sum() == 0:
        return histogram.largest
    best = min(_ENDS, key=lambda end: _divergence(counts, end))
    return min(best * histogram.step, histogram.largest)


def _divergence(counts: Floats, end: int) -> float:
    wanted = counts[:end].copy()
    told = _told_by_levels(wanted)
    wanted[-1] += counts[end:].sum()
    if told.sum() == 0 or wanted.sum() == 0:
        return np.inf
    p, q = wanted / wanted.sum(), told / told.sum()
    there = p > 0
    # What no level can tell is as unlikely as can be, not impossible: the sum stays finite.
    return float(np.sum(p[there] * np.log(p[there] / np.maximum(q[there], 1e-12))))


def _told_by_levels(counts: Floats) -> Floats:
    """Return the counts after all bins of one level share theirs evenly; bins that were empty stay so."""
    level = np.arange(len(counts)) * LEVELS // len(counts)
    sums = np.bincount(level, counts, LEVELS)
    filled = np.bincount(level, counts > 0, LEVELS)
    share = np.divide(sums, filled, out=np.zeros(LEVELS), where=filled > 0)
    return np.where(counts > 0, share[level], 0.0)


THRESHOLDS: Mapping[str, Threshold] = {
    "min-max": min_max,
    "percentile 99.999": partial(percentile, percent=99.999),
    "percentile 99.99": partial(percentile, percent=99.99),
    "percentile 99.9": partial(percentile, percent=99.9),
    "entropy": entropy,
}
"""The calibrators that are tried, by name."""


def ranges(histograms: Mapping[str, Histogram], threshold: Threshold) -> dict[str, float]:
    """Return the end of each tensor's symmetric range; 1.0 for one that is always zero."""
    return {name: threshold(histogram) or 1.0 for name, histogram in histograms.items()}
