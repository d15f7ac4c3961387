"""Samples since the start and of the last minute."""

import math
import random
import sys

import pytest

from app.latency import column as column_module
from app.latency import minute as module
from app.latency.column import Column, since_start
from app.latency.minute import of_seconds
from app.latency.percentiles import percentiles

S = 1_000_000_000


def column(*samples):
    """Return a column of (second, ms) pairs."""
    made = Column()
    for at_s, ms in samples:
        made.add(ms, round(at_s * S))
    return made


def test_a_window_holds_the_full_seconds_before_now():
    made = column((89.9, 1), (90.0, 2), (99.9, 3), (100.0, 4))
    found, exact = of_seconds(made.minute.window(round(100.4 * S), 10))
    assert (found.count, found.p50, found.max, exact) == (2, 2, 3, True)


def test_windows_asked_for_in_their_own_length_take_every_sample_once():
    seconds = [random.Random(7).uniform(0, 120) for _ in range(3000)]
    made, counts = Column(), []
    due = 10.37
    for at_s in sorted(seconds):
        while at_s >= due:
            counts.append(of_seconds(made.minute.window(round(due * S), 10))[0].count)
            due += 10
        made.add(1.0, round(at_s * S))
    assert sum(counts) == sum(at_s < int(due - 10) for at_s in seconds)


def test_met_03_a_window_of_two_columns_is_their_samples_together():
    a = column(*[(50, 1.0)] * 990)
    b = column(*[(51, 1000.0)] * 10)
    now_ns = 60 * S
    found, exact = of_seconds([*a.minute.window(now_ns, 60), *b.minute.window(now_ns, 60)])
    assert (found.count, found.p99, found.p999, exact) == (1000, 1.0, 1000.0, True)


def test_a_burst_is_counted_in_buckets_and_says_so(monkeypatch):
    monkeypatch.setattr(module, "EXACT_IN_A_SECOND", 100)
    made = column(*[(1, float(ms)) for ms in range(1, 1001)])
    found, exact = of_seconds(made.minute.window(2 * S, 1))
    assert not exact
    assert (found.count, found.max) == (1000, 1000)
    assert found.p50 == pytest.approx(500, rel=0.1)


def test_memory_stays_the_same_over_hours_and_in_a_burst():
    made = Column()
    for at_s in range(20_000):
        made.add(3.0, at_s * S)
    assert len(made.minute._seconds) == module.LONGEST_WINDOW_S + 1
    assert len(made.samples_ms) == column_module.EXACT_SAMPLES
    for _ in range(5000):
        made.add(3.0, 20_000 * S)
    assert sys.getsizeof(made.minute._seconds[-1].samples_ms) < 16 * module.EXACT_IN_A_SECOND


def test_a_sample_handed_over_out_of_order_is_not_lost():
    made = column((10.1, 1.0), (9.9, 2.0), (10.2, 3.0))
    assert of_seconds(made.minute.window(11 * S, 5))[0].count == 3
    assert [second.at_s for second in made.minute._seconds] == [10], "seconds stay in order"


@pytest.mark.parametrize("bad", [-0.001, math.nan, math.inf])
def test_what_is_no_time_is_in_no_window(bad):
    made = column((1, bad), (1, 5.0))
    assert of_seconds(made.minute.window(2 * S, 1))[0] == percentiles([5.0])
    assert since_start([made]) == (percentiles([5.0]), True)
    assert made.histogram.refused == 1
