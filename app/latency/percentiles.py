"""Percentiles by nearest rank: always a value that was measured, with the sample count beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

PERCENTS = ("50", "90", "95", "99", "99.9")
"""The percentiles of a report; as text, because 99.9 is no exact float."""


@dataclass(frozen=True, slots=True)
class Percentiles:
    """What a set of samples looks like, in the samples' unit; all 0 where there are none.

    Attributes:
        count: how many samples. A p99.9 of fewer than 1000 is their maximum: say the count with it.
    """

    count: int
    p50: float
    p90: float
    p95: float
    p99: float
    p999: float
    max: float


def rank(count: int, percent: str) -> int:
    """Return which of `count` sorted samples, from 1, is the percentile: the least with that share at or below it."""
    # Whole numbers throughout: in floats, 99.9 % of 10000 is 9990.000000000002 and would round up to the next sample.
    numerator, denominator = _ratio(percent)
    return -(-count * numerator // (100 * denominator))


@cache
def _ratio(percent: str) -> tuple[int, int]:
    share = Decimal(percent)
    if not 0 < share <= 100:  # noqa: PLR2004 - percent
        raise ValueError(f"percent: expected more than 0 and at most 100, got {percent}")
    return share.as_integer_ratio()


def percentile(ordered: Sequence[float] | NDArray[np.float64], percent: str) -> float:
    """Return a percentile of sorted samples, of which there must be one at least."""
    value: float = ordered[rank(len(ordered), percent) - 1]
    return value


def percentiles(*groups: ArrayLike) -> Percentiles:
    """Return the percentiles of all groups together.

    Percentiles of groups can't be averaged; only the samples can be put together.

    Args:
        groups: of float samples, in one dimension.
    """
    # NumPy sorts without Python's lock: ten thousand samples would else hold up the frames for a millisecond.
    ordered = np.sort(np.concatenate([np.empty(0), *(np.asarray(group, np.float64) for group in groups)]))
    if not ordered.size:
        return Percentiles(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    # Those that are asked for become Python's floats, not all.
    p50, p90, p95, p99, p999 = (float(percentile(ordered, percent)) for percent in PERCENTS)
    return Percentiles(len(ordered), p50, p90, p95, p99, p999, float(ordered[-1]))
