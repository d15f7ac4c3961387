"""Ways are timed side by side, each as often as the others."""

import gc
from itertools import pairwise

import pytest

from app.bench.ratio import Timing, measure
from app.bench.row import limit_row, ratio_row


@pytest.fixture
def visits():
    return []


@pytest.fixture
def ways(visits):
    return {name: lambda name=name: visits.append(name) for name in "abc"}


def test_every_way_is_measured_as_often_as_the_others(ways, visits):
    timings = measure(ways, rounds=4, burst=3)

    assert {name: timing.calls for name, timing in timings.items()} == {"a": 12, "b": 12, "c": 12}
    assert [visits.count(name) for name in "abc"] == [16, 16, 16]  # and once more at each visit, not measured
    assert all(0 <= timing.least_ms <= timing.median_ms for timing in timings.values())


def test_each_round_begins_with_another_way(ways, visits):
    measure(ways, rounds=3, burst=1)

    changes = [name for name, after in pairwise([*visits, ""]) if name != after]
    assert "".join(changes) == "abcbcacab"


def test_what_is_done_before_a_call_is_done_before_each_measured_one(ways):
    before = []

    measure(ways, rounds=2, burst=4, before=lambda: before.append(1))

    assert len(before) == 3 * 2 * 4


def test_the_garbage_collector_is_off_while_measuring_and_on_again_after_a_failure():
    seen = []

    def way():
        seen.append(gc.isenabled())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        measure({"a": way}, rounds=1)

    assert seen == [False]
    assert gc.isenabled()


@pytest.mark.parametrize(("reference_ms", "met"), [(4.4, True), (4.3, False)])
def test_a_reference_that_takes_long_enough_meets_the_target(reference_ms, met):
    row = ratio_row("part", "reference", Timing(reference_ms, 1.0, 5), Timing(2.0, 1.0, 5), 2.2)

    assert (row.met, row.target) == (met, "≥ 2.2 ×")
    assert row.got == f"{reference_ms / 2:.2f} ×"


def test_nothing_asked_is_neither_met_nor_missed():
    assert ratio_row("part", "reference", Timing(1, 1, 1), Timing(1, 1, 1), None).met is None


@pytest.mark.parametrize(("median_ms", "met"), [(0.99, True), (1.0, False)])
def test_a_limit_is_met_below_it(median_ms, met):
    assert limit_row("part", "what", Timing(median_ms, 0.5, 5), 1.0).met is met
