"""What a frame may still afford, from made-up times; no clock anywhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.latency.base import Level, Plan, Unhurried
from app.latency.budget import (
    MIN_SAMPLES,
    PROBE_LATE_AFTER,
    PROBE_LEVEL_AFTER,
    UP_AFTER,
    WINDOW,
    Breach,
    Budget,
    Ladder,
    breaches,
)

FULL = Plan(Level.FULL)
ALL = Ladder(max_regions=8, small_input=True)

LADDERS = [
    # what the camera has, the levels it knows
    (Ladder(), ["full", "late"]),
    (Ladder(max_regions=1), ["full", "no_refine", "late"]),
    (Ladder(max_regions=4), ["full", "fewer_regions", "no_refine", "late"]),
    (Ladder(small_input=True), ["full", "small_input", "late"]),
    (ALL, ["full", "fewer_regions", "no_refine", "small_input", "late"]),
]


def taught(ladder=None, frames=WINDOW, plan=FULL, regions=0, **steps_ms):
    """A budget of 100 ms, 20 of them in reserve, that has seen so many frames that took these times."""
    budget = Budget(100, 20, ladder)
    for _ in range(frames):
        budget.learn(steps_ms, plan, regions)
    return budget


@pytest.mark.parametrize(("ladder", "levels"), LADDERS)
def test_a_camera_has_only_the_levels_that_it_has_parts_for(ladder, levels):
    assert [level.value for level in ladder.levels] == levels


def test_a_cold_start_gets_everything():
    assert Budget(100, 20, ALL).plan(10) == Plan(Level.FULL, 8)


def test_a_frame_whose_budget_is_over_is_late_whatever_is_known():
    assert Budget(100, 20, ALL).plan(100).level is Level.LATE


def test_a_frame_that_can_not_be_ready_in_time_is_late_and_the_reserve_counts_as_time():
    budget = taught(inference=40, preprocess=5, decode=3, judge=1, publish=1)
    assert budget.plan(49).level is Level.FULL
    assert budget.plan(51).level is Level.LATE


def test_one_slow_spell_of_a_frame_or_two_changes_nothing():
    budget = taught(inference=10)
    for slow_ms in (2000, 2000):
        budget.learn({"inference": slow_ms}, FULL)
    assert budget.plan(50).level is Level.FULL


def test_a_slow_first_frame_is_not_believed():
    budget = Budget(100, 20)
    budget.learn({"inference": 2000}, FULL)
    for _ in range(WINDOW):
        assert budget.plan(5).level is Level.FULL
        budget.learn({"inference": 5}, FULL)


def test_after_a_slow_spell_a_frame_is_tried_and_one_that_is_fast_again_ends_it():
    budget = taught(inference=500)
    plans = [budget.plan(5) for _ in range(PROBE_LATE_AFTER)]
    assert [plan.level for plan in plans[:-1]] == [Level.LATE] * (PROBE_LATE_AFTER - 1)
    assert plans[-1].level is Level.FULL
    assert plans[-1].probe
    budget.learn({"inference": 10}, plans[-1])
    assert budget.plan(5) == FULL


def test_a_probe_that_is_slow_again_changes_nothing():
    budget = taught(inference=500)
    for _ in range(5):
        plans = [budget.plan(5) for _ in range(PROBE_LATE_AFTER)]
        budget.learn({"inference": 500}, plans[-1])
        assert [plan.level for plan in plans].count(Level.LATE) == PROBE_LATE_AFTER - 1


def test_a_frame_too_old_already_is_no_probe():
    budget = taught(inference=500)
    assert {budget.plan(101).level for _ in range(5 * PROBE_LATE_AFTER)} == {Level.LATE}


DOWN = [
    # how much is gone, the level and the regions that still fit in 80 ms after 20 of inference; 5 ms for each region
    (10, Level.FULL, 8),
    (20, Level.FULL, 8),
    (25, Level.FEWER_REGIONS, 7),
    (50, Level.FEWER_REGIONS, 2),
    (56, Level.NO_REFINE, 0),
    (60, Level.NO_REFINE, 0),
    (65, Level.SMALL_INPUT, 0),
    (90, Level.SMALL_INPUT, 0),
    (99, Level.LATE, 0),
]


def with_all():
    """A budget that knows 20 ms of inference, 5 ms of it with a small input, and 5 ms for each region."""
    budget = taught(ALL, inference=20, refine=40, regions=8)
    for _ in range(WINDOW):
        budget.learn({"inference": 5}, Plan(Level.SMALL_INPUT))
    return budget


@pytest.mark.parametrize(("spent_ms", "level", "regions"), DOWN)
def test_it_goes_down_at_once_as_far_as_it_must(spent_ms, level, regions):
    plan = with_all().plan(spent_ms)
    assert (plan.level, plan.max_regions) == (level, regions)


def test_what_is_left_out_is_named():
    budget = with_all()
    skipped = {plan.level: plan.skipped for plan in (budget.plan(spent_ms) for spent_ms, _, _ in DOWN)}
    assert skipped == {
        Level.FULL: (),
        Level.FEWER_REGIONS: ("regions",),
        Level.NO_REFINE: ("refine",),
        Level.SMALL_INPUT: ("refine", "full_input"),
        Level.LATE: ("inference",),
    }


def test_it_goes_up_one_level_after_enough_frames_in_a_row():
    budget = taught(ALL, inference=20, refine=40, regions=8)
    assert budget.plan(65).level is Level.SMALL_INPUT
    levels = [budget.plan(5).level for _ in range(3 * UP_AFTER)]
    turns = [levels[0], *(after for before, after in pairwise(levels) if after is not before)]
    assert turns == [Level.SMALL_INPUT, Level.NO_REFINE, Level.FEWER_REGIONS, Level.FULL]
    assert levels.index(Level.NO_REFINE) == UP_AFTER - 1


def test_one_frame_that_could_not_afford_it_starts_the_count_again():
    budget = taught(Ladder(max_regions=1), inference=20, refine=30, regions=1)
    assert budget.plan(55).level is Level.NO_REFINE
    for _ in range(2):
        assert {budget.plan(5).level for _ in range(UP_AFTER - 1)} == {Level.NO_REFINE}
        assert budget.plan(55).level is Level.NO_REFINE


def test_a_frame_that_could_only_just_afford_more_does_not_count():
    budget = taught(Ladder(max_regions=1), inference=20, refine=30, regions=1)
    budget.plan(55)
    assert {budget.plan(29).level for _ in range(UP_AFTER + 5)} == {Level.NO_REFINE}


def test_a_second_look_that_was_slow_once_is_tried_again():
    budget = taught(Ladder(max_regions=1), inference=20, refine=500, regions=1)
    plans = [budget.plan(5) for _ in range(PROBE_LEVEL_AFTER + 1)]
    assert (plans[0].level, plans[-1]) == (Level.NO_REFINE, Plan(Level.FULL, 1, (), probe=True))
    budget.learn({"refine": 10}, plans[-1], regions=1)
    assert {budget.plan(5).level for _ in range(UP_AFTER)} == {Level.NO_REFINE, Level.FULL}


def test_after_decoding_the_second_look_is_cut_to_what_is_left():
    budget = taught(ALL, inference=20, refine=40, regions=8, judge=1, publish=4)
    plan = budget.plan(5)
    assert budget.regions(30, plan) == plan
    assert budget.regions(60, plan) == Plan(Level.FEWER_REGIONS, 3, ("regions",))
    assert budget.regions(79, plan) == Plan(Level.NO_REFINE, 0, ("refine",))
    assert budget.regions(79, FULL) == FULL, "a frame that was promised none is not touched"


def test_a_frame_with_nothing_to_look_at_again_says_nothing_of_what_a_region_takes():
    budget = taught(ALL, inference=20, refine=40, regions=8)
    for _ in range(WINDOW):
        budget.learn({"refine": 0.1}, Plan(Level.FULL, 8), 0)
    assert budget.plan(25).max_regions == 7


@given(st.lists(st.tuples(st.floats(0, 200), st.floats(0, 300)), max_size=120))
def test_the_plan_is_always_one_that_the_camera_has(frames):
    budget = Budget(100, 20, ALL)
    for spent_ms, inference_ms in frames:
        plan = budget.plan(spent_ms)
        assert plan.level in ALL.levels
        assert (plan.level is Level.LATE) or spent_ms < 100
        assert {Level.FULL: {8}, Level.FEWER_REGIONS: set(range(1, 8))}.get(plan.level, {0}) >= {plan.max_regions}
        if plan.level is not Level.LATE:
            budget.learn({"inference": inference_ms, "refine": inference_ms}, plan, plan.max_regions)


@given(st.lists(st.floats(0, 5000), max_size=200))
def test_whatever_happened_fast_frames_are_judged_again_soon(history):
    budget = Budget(100, 20)
    for inference_ms in history:
        plan = budget.plan(5)
        if plan.level is not Level.LATE:
            budget.learn({"inference": inference_ms}, plan)
    late = 0
    for _ in range(4 * WINDOW):
        plan = budget.plan(5)
        late += plan.level is Level.LATE
        if plan.level is not Level.LATE:
            budget.learn({"inference": 5.0}, plan)
    assert late <= PROBE_LATE_AFTER + MIN_SAMPLES
    assert budget.plan(5).level is Level.FULL


SHARES = {"capture": 15.0, "inference": 35.0, "total": 100.0}
FOUND = [
    # what the stages took, what is told
    ({"capture": 15.0, "inference": 35.0, "total": 100.0}, ()),
    ({"capture": 3.0, "inference": None}, ()),
    ({"inference": 61.0, "total": 99.0}, (Breach("inference", 61.0, 35.0),)),
    ({"wait": 90.0, "total": 110.0}, (Breach("total", 110.0, 100.0),)),
    (
        {"capture": 20.0, "inference": 90.0, "total": 110.0},
        (Breach("capture", 20.0, 15.0), Breach("inference", 90.0, 35.0), Breach("total", 110.0, 100.0)),
    ),
]


@pytest.mark.parametrize(("columns_ms", "found"), FOUND)
def test_a_breach_names_the_stage_and_by_how_much(columns_ms, found):
    assert breaches(columns_ms, SHARES) == found
    assert all(breach.over_ms > 0 for breach in found)


def test_pictures_that_wait_for_nobody_get_everything():
    planner = Unhurried(4)
    plan = planner.plan(1e9)
    planner.learn({"inference": 1e9}, plan)
    assert planner.regions(1e9, plan) == planner.plan(0) == Plan(Level.FULL, 4)
