"""How early to aim."""

from __future__ import annotations

import pytest

from app.latency.aim import AWAY_MS, FIRST_LEAD_MS, MARGIN_MS, MIN_SAMPLES, Aim


def aimed(woke_ms, handed_ms, times=MIN_SAMPLES):
    aim = Aim()
    for _ in range(times):
        aim.woke(woke_ms)
        aim.handed_over(handed_ms)
    return aim


def test_it_is_early_by_its_own_lateness_and_the_way_to_the_network():
    assert aimed(2.0, 3.0).lead_ms == pytest.approx(5.0 + MARGIN_MS)


def test_before_anything_is_measured_it_is_early_by_a_guess_but_never_by_less_than_was_measured():
    assert Aim().lead_ms == FIRST_LEAD_MS
    assert aimed(0.1, 0.2, times=1).lead_ms == FIRST_LEAD_MS
    assert aimed(8.0, 0.2, times=1).lead_ms == pytest.approx(8.2 + MARGIN_MS)


def test_one_in_two_hundred_may_be_slower():
    aim = aimed(0.1, 0.1, times=500)
    for _ in range(2):
        aim.woke(50.0)
    assert aim.lead_ms == pytest.approx(0.2 + MARGIN_MS)
    aim.woke(50.0)
    assert aim.lead_ms == pytest.approx(50.1 + MARGIN_MS)


def test_a_broker_that_was_away_is_no_measure():
    aim = aimed(0.1, 0.1)
    for _ in range(100):
        aim.handed_over(AWAY_MS + 1)
    assert aim.lead_ms == pytest.approx(0.2 + MARGIN_MS)
