"""A histogram of buckets of equal ratio."""

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.latency.histogram import BOUNDS_MS, LIMIT_MS, Histogram, text_ms
from app.latency.percentiles import percentile


def histogram(*samples_ms):
    made = Histogram()
    for sample_ms in samples_ms:
        made.add(sample_ms)
    return made


@pytest.mark.parametrize("ms", [0.05, 0.3, 3.0, 17.0, 250.0, 9000.0])
def test_met_04_a_time_is_shown_within_a_fifth_of_it(ms):
    found = histogram(*[ms] * 1000)
    for percent in ("50", "99", "99.9"):
        assert found.percentile(percent) == pytest.approx(ms, rel=0.2)
        assert found.percentile(percent) >= found.mean_ms


def test_met_04_times_over_the_last_bucket_are_shown_as_over_the_limit():
    found = histogram(*[30_000.0] * 100)
    assert found.percentile("50") == math.inf
    assert text_ms(found.percentile("50")) == "> 10000"
    assert found.percentile("99") >= found.mean_ms == 30_000
    assert found.percentiles().max == 30_000
    assert text_ms(3.04) == "3.0"


@given(st.lists(st.floats(0.02, 9000), min_size=1, max_size=200), st.sampled_from(["50", "95", "99", "99.9"]))
def test_a_percentile_is_never_shorter_than_the_sample_and_at_most_ten_percent_longer(samples, percent):
    true = percentile(sorted(samples), percent)
    assert true <= histogram(*samples).percentile(percent) * (1 + 1e-12)
    assert histogram(*samples).percentile(percent) <= true * 1.101


def test_met_03_merged_histograms_are_the_histogram_of_all_samples():
    merged = Histogram.merged([histogram(*[1.0] * 990), histogram(*[1000.0] * 10)])
    together = histogram(*[1.0] * 990, *[1000.0] * 10)
    assert merged.counts == together.counts
    assert merged.percentile("99") == pytest.approx(1.0, rel=0.1)
    assert merged.mean_ms == pytest.approx(10.99)


def test_memory_does_not_grow_with_the_samples():
    made = Histogram()
    before = sys.getsizeof(made.counts)
    for n in range(20_000):
        made.add(n * 0.37)
    assert len(made.counts) == len(BOUNDS_MS) + 1
    assert sys.getsizeof(made.counts) == before
    assert made.count == 20_000


@pytest.mark.parametrize("bad", [-0.001, math.nan, math.inf, -math.inf])
def test_what_is_no_time_is_counted_apart(bad):
    made = histogram(bad, 1.0)
    assert (made.count, made.refused) == (1, 1)
    assert made.mean_ms == 1.0


def test_nought_and_the_ends_of_buckets_are_counted_low():
    assert histogram(0.0).counts[0] == 1
    assert histogram(LIMIT_MS).counts[-1] == 0
    assert histogram(*BOUNDS_MS).counts == [1] * len(BOUNDS_MS) + [0]
    assert histogram().percentile("50") == 0.0
