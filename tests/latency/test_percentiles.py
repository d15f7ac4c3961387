"""Percentiles by nearest rank."""

import math
import random
from fractions import Fraction

import pytest

from app.latency.percentiles import Percentiles, percentile, percentiles, rank


def test_met_02_the_99_9th_percentile_is_not_the_99th():
    found = percentiles(range(1, 10_001))
    assert found == Percentiles(10_000, 5000, 9000, 9500, 9900, 9990, 10_000)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 99, 100, 101, 999, 1000, 1001, 10_000, 41_000, 1_000_000])
@pytest.mark.parametrize("percent", ["50", "90", "95", "99", "99.9", "99.99", "100", "0.1"])
def test_met_02_ranks_have_no_rounding_trap(count, percent):
    assert rank(count, percent) == math.ceil(Fraction(percent) / 100 * count)


def test_met_03_percentiles_of_groups_are_those_of_all_samples_and_no_mean():
    a, b = [1.0] * 990, [1000.0] * 10
    together = percentiles(a, b)
    assert together.p99 == 1.0
    assert together.p999 == 1000.0
    assert together.count == 1000


def test_the_count_stands_beside_the_percentiles_even_where_it_is_nought():
    assert percentiles().count == 0
    assert percentiles([]).max == 0
    assert percentiles([5.0]) == Percentiles(1, 5, 5, 5, 5, 5, 5)


def test_the_order_of_the_samples_does_not_matter():
    samples = list(range(1, 101))
    random.Random(1).shuffle(samples)
    assert percentiles(samples).p95 == 95
    assert percentile([1, 2, 3, 4], "50") == 2


@pytest.mark.parametrize("percent", ["0", "-1", "100.1"])
def test_a_percentile_that_is_none_is_refused(percent):
    with pytest.raises(ValueError, match="at most 100"):
        rank(10, percent)
