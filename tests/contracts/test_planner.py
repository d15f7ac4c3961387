"""What everything that plans a frame promises, tried on all of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.config.budget import Shares
from app.latency.base import Level, Planner, Unhurried
from app.latency.budget import Budget, Ladder
from app.latency.monitor import Monitor, Teller
from app.latency.recorder import Recorder

REGIONS = 6


def budget() -> Budget:
    return Budget(100.0, 20.0, Ladder(max_regions=REGIONS))


def monitor() -> Monitor:
    return Monitor(
        "front",
        budget(),
        budget_ms=100.0,
        shares_ms=Shares().stages_ms(100.0),
        recorder=Recorder(),
        tell=Teller(lambda *_: None, lambda _: None),
    )


@pytest.fixture(params=[budget, monitor, lambda: Unhurried(REGIONS)], ids=["budget", "monitor", "unhurried"])
def planner(request: pytest.FixtureRequest) -> Planner:
    make: Callable[[], Planner] = request.param
    return make()


def test_before_anything_is_known_a_frame_gets_everything(planner: Planner) -> None:
    plan = planner.plan(1.0)
    assert (plan.level, plan.max_regions, plan.skipped, plan.probe) == (Level.FULL, REGIONS, (), False)


def test_the_second_look_is_never_more_than_was_planned(planner: Planner) -> None:
    for spent_ms in (0.0, 40.0, 79.0, 99.0, 500.0):
        plan = planner.plan(spent_ms)
        assert planner.regions(spent_ms, plan).max_regions <= plan.max_regions


def test_steps_that_play_no_part_are_taken_without_a_word(planner: Planner) -> None:
    plan = planner.plan(1.0)
    planner.learn({"slot": 5.0, "capture": 1.0, "refine": 2.0, "inference": 10.0}, plan, 2)
    planner.learn({}, plan)
    assert planner.plan(1.0).level is Level.FULL
