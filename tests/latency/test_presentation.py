"""Subscribers told apart from the network, and from one another."""

import math

import pytest

from app.latency import presentation as module
from app.latency.presentation import OTHERS, Presentation


@pytest.fixture
def presentation(clock):
    return Presentation(clock)


def test_a_weak_client_is_told_from_a_weak_network(presentation, clock):
    for _ in range(20):
        presentation.add("cam", "old tablet", round_trip_ms=310.0, hold_ms=300.0)
        presentation.add("cam", "far office", round_trip_ms=205.0, hold_ms=5.0)
        presentation.add("cam", "panel", round_trip_ms=9.0, hold_ms=4.0)
    clock.advance(1)
    rows = presentation.rows("cam")
    assert [(row.client, row.mostly, row.network.p90, row.hold.p90) for row in rows] == [
        ("old tablet", "client", 10.0, 300.0),
        ("far office", "network", 200.0, 5.0),
        ("panel", "network", 5.0, 4.0),
    ]
    assert rows[0].hold.count == 20
    assert presentation.rows("another") == []


def test_an_answer_before_the_brokers_own_leaves_no_network_time(presentation, clock):
    presentation.add("cam", "panel", round_trip_ms=0.0, hold_ms=3.0)
    clock.advance(1)
    assert presentation.rows("cam")[0].network.max == 0.0


@pytest.mark.parametrize("hold_ms", [-1.0, math.nan, math.inf, 1e9])
def test_a_hold_that_cannot_be_is_refused(presentation, clock, hold_ms):
    presentation.add("cam", "liar", round_trip_ms=10.0, hold_ms=hold_ms)
    clock.advance(1)
    assert (presentation.rows("cam"), presentation.refused) == ([], 1)


def test_a_subscriber_that_shows_nothing_any_more_is_not_listed(presentation, clock):
    presentation.add("cam", "gone", 9.0, 4.0)
    clock.advance(62)
    presentation.add("cam", "here", 9.0, 4.0)
    clock.advance(1)
    assert [row.client for row in presentation.rows("cam")] == ["here"]


def test_met_01_twenty_thousand_names_are_one_row(presentation, clock):
    presentation.add("cam", "panel", 9.0, 4.0)
    for number in range(20_000):
        presentation.add("cam", f"client {number}", 9.0, 4.0)
    clock.advance(1)
    rows = presentation.rows("cam")
    assert len(rows) == module.MAX_CLIENTS + 1
    assert {"panel", OTHERS} <= {row.client for row in rows}
    assert sum(row.hold.count for row in rows) >= module.MAX_CLIENTS + 1000
    assert list(presentation.histograms()) == [("cam", "network"), ("cam", "hold")]
    assert presentation.histograms()["cam", "hold"].count == 20_001


def test_a_silent_subscriber_makes_room_for_a_new_one(presentation, clock):
    for number in range(module.MAX_CLIENTS):
        presentation.add("cam", f"old {number}", 9.0, 4.0)
    clock.advance(301)
    presentation.add("cam", "new", 9.0, 4.0)
    clock.advance(1)
    assert [row.client for row in presentation.rows("cam")] == ["new"]


def test_names_from_outside_are_made_harmless(presentation, clock):
    for name in ("", "a\nb\x1b[31m", "x" * 10_000):
        presentation.add("cam", name, 9.0, 4.0)
    clock.advance(1)
    assert {row.client for row in presentation.rows("cam")} == {module.UNNAMED, "a?b?[31m", "x" * 64}
