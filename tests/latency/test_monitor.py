"""What is told of a camera's budget, and how often."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.config.budget import Shares
from app.latency.base import Level, Plan
from app.latency.budget import PROBE_LATE_AFTER, WINDOW, Budget
from app.latency.monitor import FIRST_FRAMES, Monitor, Teller
from app.latency.recorder import Recorder

FULL = Plan(Level.FULL)


class Rig:
    def __init__(self):
        self.events, self.lines, self.recorder = [], [], Recorder()
        self.throttle = ()
        self.stands_in = False
        self.monitor = Monitor(
            "front",
            Budget(100.0, 20.0),
            budget_ms=100.0,
            shares_ms=Shares().stages_ms(100.0),
            recorder=self.recorder,
            tell=Teller(lambda kind, text, data: self.events.append((kind, text, data)), self.lines.append),
            throttled=lambda: self.throttle,
            stands_in=lambda: self.stands_in,
        )

    def warm_up(self, outcome):
        for seq in range(1, FIRST_FRAMES + 1):
            self.monitor.done(outcome(seq, inference=5.0))


@pytest.fixture
def rig():
    return Rig()


def test_a_breach_is_an_event_a_count_and_a_line_that_name_the_stage_and_by_how_much(rig, outcome):
    rig.warm_up(outcome)
    rig.monitor.done(outcome(9, capture=4.0, inference=61.5))
    text = "inference took 61.5 of 35.0 ms"
    data = {"trace_id": "run-front-000009", "seq": 9, "rev": 1, "over_ms": {"inference": 26.5}}
    assert rig.events == [("breach", text, data)]
    assert rig.lines == [f"front: frame 9: {text}"]
    assert rig.recorder.budget_counts().breaches == {("front", "inference"): 1}


def test_each_frame_in_breach_is_told_once_with_all_its_stages(rig, outcome):
    rig.warm_up(outcome)
    for seq in (7, 8):
        rig.monitor.done(outcome(seq, slot=40.0, inference=50.0, publish=30.0))
    assert [set(data["over_ms"]) for _, _, data in rig.events] == [{"inference", "network", "total"}] * 2
    assert rig.recorder.budget_counts().breaches["front", "total"] == 2


def test_a_frame_within_its_shares_is_not_told_of(rig, outcome):
    rig.warm_up(outcome)
    rig.monitor.done(outcome(9, capture=15.0, slot=20.0, preprocess=5.0, inference=35.0, publish=5.0))
    assert rig.events == []


def test_a_late_presentation_is_told_when_it_is_known(rig, outcome):
    rig.warm_up(outcome)
    result = outcome(9, inference=5.0, present=25.0)
    rig.monitor.done(result)
    rig.monitor.shown(result)
    assert [data["over_ms"] for _, _, data in rig.events] == [{"presentation": 20.0}]


def test_a_level_change_says_what_holds_the_machine_back(rig):
    rig.throttle = ("cpu: cpufreq-cpu0 at 94 °C", "gpu 0: thermal")
    rig.monitor.plan(150.0)
    ((kind, text, data),) = rig.events
    why = "the machine is held back (cpu: cpufreq-cpu0 at 94 °C; gpu 0: thermal)"
    assert (kind, text) == ("level", f"level late, before full; {why}")
    assert data == {"level": "late", "before": "full", "throttle": list(rig.throttle)}
    assert rig.lines == [f"front: {text}"]


def test_mdl_19_the_first_frames_are_not_told_of(rig, outcome):
    for seq in range(1, FIRST_FRAMES + 1):
        rig.monitor.done(outcome(seq, inference=2000.0, publish=400.0))
        rig.monitor.shown(outcome(seq, present=400.0))
    assert rig.events == []


def test_a_level_change_is_told_once_in_each_direction(rig):
    for _ in range(WINDOW):
        rig.monitor.learn({"inference": 500.0}, FULL)
    plans = [rig.monitor.plan(5.0) for _ in range(PROBE_LATE_AFTER)]
    rig.monitor.learn({"inference": 5.0}, plans[-1])
    for _ in range(3):
        rig.monitor.learn({"inference": 5.0}, rig.monitor.plan(5.0))
    assert [(kind, data) for kind, _, data in rig.events] == [
        ("level", {"level": "late", "before": "full"}),
        ("level", {"level": "full", "before": "late"}),
    ]
    counts = rig.recorder.budget_counts()
    assert counts.level_changes == {("front", "late"): 1, ("front", "full"): 1}
    assert counts.levels == {"front": "full"}


def test_an_engine_here_that_stands_in_for_one_elsewhere_is_a_level_of_its_own(rig):
    for rig.stands_in in (False, True, True, False):
        rig.monitor.learn({"inference": 5.0}, rig.monitor.plan(5.0))
    assert [(kind, data) for kind, _, data in rig.events] == [
        ("level", {"level": "local_engine", "before": "full"}),
        ("level", {"level": "full", "before": "local_engine"}),
    ]
    assert rig.recorder.budget_counts().level_changes == {("front", "local_engine"): 1, ("front", "full"): 1}


def test_a_frame_that_can_afford_less_than_all_keeps_that_level_s_name_whoever_looks(rig):
    rig.stands_in = True
    for _ in range(WINDOW):
        rig.monitor.learn({"inference": 500.0}, FULL)
    assert rig.monitor.plan(5.0).level is Level.LATE


def test_a_camera_starts_at_full_without_a_word(rig):
    assert rig.recorder.budget_counts().levels == {"front": "full"}
    assert (rig.events, rig.lines) == ([], [])


def test_a_slow_broker_is_a_breach_but_no_reason_to_stop_looking(rig, outcome):
    for seq in range(1, WINDOW + 1):
        rig.monitor.learn({"inference": 40.0}, FULL)
        rig.monitor.done(outcome(seq, inference=40.0, publish=500.0))
    assert rig.monitor.plan(30.0).level is Level.FULL
    assert rig.recorder.budget_counts().breaches["front", "network"] == WINDOW - FIRST_FRAMES


def test_the_second_look_is_cut_by_the_budget(rig):
    assert rig.monitor.regions(10.0, FULL) == FULL


def test_a_late_result_is_measured_like_any_other(rig, outcome):
    rig.warm_up(outcome)
    rig.monitor.done(replace(outcome(9, inference=9000.0), rev=2, late=True))
    assert rig.events[0][2]["rev"] == 2
    assert rig.events[0][2]["over_ms"] == {"inference": 8965.0, "total": 8900.0}
