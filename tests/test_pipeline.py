"""One camera's frames from the schedule to their outcome: in time, too late, and when the engine hangs."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from app.config.budget import Shares
from app.errors import BadOutput
from app.gate import GateStep
from app.inference.fake import FakeBackend
from app.latency.aim import Aim
from app.latency.base import Level, Unhurried
from app.latency.budget import Budget
from app.latency.deadline import Deadline
from app.latency.monitor import Monitor, Teller
from app.latency.recorder import Recorder
from app.static import Static
from app.verdict import Verdict
from tests.frames import frame
from tests.rig import MS, SPEC, WAIT_S, ByHand, Fixed, Holding, Rig, faulty

# ── in time ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_frame_in_time_has_one_verdict_and_is_judged():
    rig = Rig()
    rig.run()
    assert rig.said == [(1, 1, "OK", False)]
    assert rig.counts() == "1 captured = 1 judged"
    assert rig.outcomes[0].level == "full"


def test_its_deadline_is_its_exposure_and_the_budget():
    rig = Rig(budget_ms=40.0)
    one = frame(exposed_ns=time.monotonic_ns())
    rig.pipeline.expect(one)
    assert rig.watch.watched[1][1] == one.picture.exposed_ns + 40 * MS


def test_the_planner_learns_the_time_of_every_step():
    rig = Rig()
    rig.run()
    learned = {step: took_ms for steps_ms in rig.planner.learned for step, took_ms in steps_ms.items()}
    assert {"preprocess", "inference", "decode", "judge"} <= set(learned)


# ── too old, or late ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_frame_too_old_when_it_is_picked_is_not_inferred_and_says_so():
    rig = Rig(planner=Fixed(Level.LATE))
    rig.run()
    assert rig.said == [(1, 1, "UNKNOWN", "late", False)]
    assert rig.backend.ran == 0
    assert rig.counts() == "1 captured = 1 late"
    assert rig.outcomes[0].skipped == ("inference",)
    assert "too old when it was picked" in rig.outcomes[0].judgement.reasons[0].text


def test_a_frame_that_was_said_to_be_late_while_it_waited_is_not_said_to_be_late_again():
    rig = Rig(planner=Fixed(Level.LATE))
    one = frame()
    rig.pipeline.expect(one)
    rig.ledger.capture("front", 1)
    rig.watch.speak(1)
    rig.pipeline.run(one)
    assert rig.said == [(1, 1, "UNKNOWN", "late", False)]
    assert "waiting" in rig.outcomes[0].judgement.reasons[0].text
    assert rig.counts() == "1 captured = 1 late"


def test_while_the_engine_hangs_late_goes_out_and_the_verdict_follows_as_revision_2():
    watch = ByHand()
    rig = Rig(lambda: watch.speak(1), watch=watch)
    rig.run()
    assert rig.said == [(1, 1, "UNKNOWN", "late", False), (1, 2, "OK", True)]
    assert rig.counts() == "1 captured = 1 late", "settled once"
    first, second = rig.outcomes
    assert (first.level, second.level) == ("late", "full")
    assert first.trace_id == second.trace_id
    assert first.trace is not second.trace, "the outbox owns the first one by now"
    assert "no verdict yet: inference" in first.judgement.reasons[0].text
    assert first.trace.columns_ms()["preprocess"] is not None
    assert first.trace.columns_ms()["inference"] is None
    assert rig.steady == [Verdict.OK], "late is no verdict of the rules"


def test_output_that_makes_no_sense_after_the_deadline_is_revision_2_as_well():
    watch = ByHand()

    def late_and_wrong():
        watch.speak(1)
        raise BadOutput("NaN")

    rig = Rig(late_and_wrong, watch=watch)
    rig.run()
    assert rig.said == [(1, 1, "UNKNOWN", "late", False), (1, 2, "UNKNOWN", "bad_output", True)]
    assert rig.counts() == "1 captured = 1 late"


def test_a_picture_with_a_fault_is_unknown_without_the_engine_and_without_a_plan():
    rig = Rig(planner=Fixed(Level.LATE))
    rig.run(faulty())
    assert rig.said == [(1, 1, "UNKNOWN", "torn", False)]
    assert rig.counts() == "1 captured = 1 failed"


def test_a_picture_with_a_fault_that_waited_too_long_says_why_in_revision_2():
    rig = Rig()
    one = faulty()
    rig.ledger.capture("front", 1)
    rig.pipeline.expect(one)
    rig.watch.speak(1)
    rig.pipeline.run(one)
    assert rig.said == [(1, 1, "UNKNOWN", "late", False), (1, 2, "UNKNOWN", "torn", True)]
    assert rig.counts() == "1 captured = 1 late"


# ── with a gate ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_frame_that_waits_in_the_gate_is_no_longer_the_timers():
    gate = Holding()
    rig = Rig(gate=gate)
    rig.run(frame(1))
    assert rig.watch.watched == {}
    gate.next = GateStep((gate.choose(0),), ())
    rig.run(frame(2))
    assert rig.said == [(1, 1, "OK", False)]
    assert rig.counts() == "2 captured = 1 judged + 1 waiting"


def test_a_frame_that_the_gate_passes_over_publishes_nothing():
    gate = Holding()
    rig = Rig(gate=gate)
    rig.run(frame(1))
    gate.next = GateStep((), (gate.held[0],))
    rig.run(frame(2))
    assert rig.said == []
    assert rig.counts() == "2 captured = 1 skipped + 1 waiting"


def test_a_part_that_no_picture_showed_whole_is_unknown_in_the_next_frame_that_is_passed_over():
    gate = Holding()
    rig = Rig(gate=gate)
    gate.next = GateStep((), (), missed=1)
    rig.run(frame(1))
    assert rig.said == [], "the frame is held for another part: it can't speak for the missed one"
    gate.next = GateStep((), tuple(gate.held))
    rig.run(frame(2))
    assert rig.said == [(1, 1, "UNKNOWN", "no_part", False)]
    assert rig.counts() == "2 captured = 1 failed + 1 waiting"


ENDS = [
    # what the gate makes of a late frame, what follows its UNKNOWN/late
    ("chosen", [(1, 2, "OK", True)]),
    ("passed", []),
]


@pytest.mark.parametrize(("end", "follows"), ENDS)
def test_a_picked_frame_whose_engine_hangs_is_late_whatever_the_gate_makes_of_it(end, follows):
    gate, watch = Holding(), ByHand()
    rig = Rig(lambda: watch.speak(1), lambda: None, gate=gate, watch=watch)
    rig.run(frame(1))
    gate.next = GateStep((gate.choose(0),), ()) if end == "chosen" else GateStep((), (gate.held[0],))
    rig.pipeline.finish()
    assert rig.said == [(1, 1, "UNKNOWN", "late", False), *follows]
    assert rig.counts() == "1 captured = 1 late"


# ── with the real timer and the real budget ──────────────────────────────────────────────────────────────────────────


def test_a_hanging_engine_does_not_keep_late_from_going_out_by_the_deadline():
    said, go_on = threading.Event(), threading.Event()
    with Deadline(Aim()) as deadline:
        rig = Rig(lambda: go_on.wait(WAIT_S), watch=deadline)
        append = rig.outcomes.append
        rig.pipeline._emit = lambda outcome, image: (append(outcome), said.set())
        thread = threading.Thread(target=rig.run)
        thread.start()
        assert said.wait(WAIT_S), "while the engine hangs"
        assert rig.said == [(1, 1, "UNKNOWN", "late", False)]
        go_on.set()
        thread.join(WAIT_S)
    assert rig.said[1:] == [(1, 2, "OK", True)]
    assert rig.counts() == "1 captured = 1 late"


BUDGET_MS = 2000.0
"""Generous, so that a busy machine does not make frames late; the slow warm-up is thirty times that."""


def monitor(recorder, events):
    return Monitor(
        "front",
        Budget(BUDGET_MS, BUDGET_MS / 5),
        budget_ms=BUDGET_MS,
        shares_ms=Shares().stages_ms(BUDGET_MS),
        recorder=recorder,
        tell=Teller(lambda kind, text, data: events.append((kind, data)), lambda line: None),
    )


def test_mdl_19_a_slow_first_inference_poisons_nothing():
    waited, events, recorder = [], [], Recorder()
    backend = FakeBackend([SPEC], {"out": np.zeros(1, np.float32)}, delays_s=(60, 0.005), wait=waited.append)
    with backend:
        assert waited == [60], "the slow one is the warm-up, before the first frame"
        backend._wait = time.sleep
        planner = monitor(recorder, events)
        rig = Rig(backend=backend, planner=planner, budget_ms=BUDGET_MS)
        for seq in range(1, 101):
            rig.run(frame(seq))
            outcome = rig.outcomes[-1]
            planner.done(outcome)
            recorder.add("front", outcome.trace.columns_ms(), outcome.trace.total_ms, outcome.budget_ms)
    assert {said[2] for said in rig.said} == {"OK"}
    rows = {row.column: row.percentiles for row in recorder.summary().rows}
    assert 5 <= rows["inference"].p50 < 200
    assert rows["inference"].max < BUDGET_MS
    assert not any(recorder.budget_counts().level_changes.values())
    assert all(over_ms < BUDGET_MS for _, data in events for over_ms in data.get("over_ms", {}).values())


def test_mdl_19_a_first_frame_that_is_slow_after_all_is_no_breach_and_costs_no_frame_its_verdict():
    events, recorder = [], Recorder()
    planner = monitor(recorder, events)
    for number in range(60):
        plan = planner.plan(5.0)
        assert plan.level is Level.FULL
        rig_outcome = outcome_of(2000.0 if number == 0 else 5.0)
        planner.learn({"inference": 2000.0 if number == 0 else 5.0}, plan)
        planner.done(rig_outcome)
    assert events == []


def outcome_of(inference_ms, seq=1):
    """An outcome whose engine took so long."""
    rig = Rig(planner=Unhurried())
    rig.run(frame(seq))
    outcome = rig.outcomes[0]
    began_ns = outcome.trace.exposed_ns
    outcome.trace.spans[:] = [("inference", began_ns, began_ns + int(inference_ms * MS))]
    return outcome


# ── pictures that are the same ───────────────────────────────────────────────────────────────────────────────────────


def test_a_picture_that_is_the_same_is_judged_without_a_look_and_the_result_says_so():
    rig = Rig(static=Static(60.0))
    for seq in (1, 2, 3):
        rig.run(frame(seq))
    assert rig.backend.ran == 1
    assert [outcome.reused for outcome in rig.outcomes] == [False, True, True]
    assert rig.said == [(1, 1, "OK", False), (2, 1, "OK", False), (3, 1, "OK", False)]
    assert "inference" not in [step for step, *_ in rig.outcomes[1].trace.spans]


def test_a_triggered_picture_is_always_looked_at():
    rig = Rig(static=Static(60.0))
    rig.run(frame(1))
    rig.run(replace(frame(2), trigger="part 7"))
    assert rig.backend.ran == 2
    assert [outcome.reused for outcome in rig.outcomes] == [False, False]


def test_the_engine_is_told_the_frames_deadline():
    rig = Rig(budget_ms=40.0)
    one = frame()
    rig.ledger.capture("front", one.seq)
    look = rig.pipeline.look(rig.pipeline.begin(one))
    assert look.deadline_ns == one.picture.exposed_ns + 40_000_000
