"""One camera's frames from the schedule to their outcome: in time, too late, and when the engine hangs."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from app.config.budget import Shares
from app.detections import Detections
from app.errors import BadOutput
from app.frame import NO_IMAGE, Frame, Picture
from app.gate import Chosen, GateStep
from app.inference.fake import FakeBackend
from app.latency.aim import Aim
from app.latency.base import Level, Plan, Unhurried
from app.latency.budget import Budget
from app.latency.deadline import Deadline
from app.latency.monitor import Monitor, Teller
from app.latency.recorder import Recorder
from app.ledger import Ledger
from app.letterbox import Letterbox
from app.model import TensorSpec
from app.pipeline import Engine, Pipeline
from app.verdict import Code, Judgement, Reason, Verdict
from tests.frames import frame

MS = 1_000_000
WAIT_S = 20
LETTERBOX = Letterbox((6, 4), (6, 4), (6, 4), 0, 0)
SPEC = TensorSpec("images", (1, 3, 4, 6), "float32")
FEEDS = {"images": np.zeros((1, 3, 4, 6), np.float32)}


class Backend:
    """An engine that does what a test says, one call after the other; the last is repeated."""

    def __init__(self, *calls):
        self.calls = list(calls) or [lambda: None]
        self.ran = 0

    def infer(self, feeds):
        call = self.calls[min(self.ran, len(self.calls) - 1)]
        self.ran += 1
        call()
        return {}


class Fixed:
    """A planner that plans what a test says, and keeps what it is told."""

    def __init__(self, level=Level.FULL):
        self.level = level
        self.learned = []

    def plan(self, spent_ms):
        return Plan(self.level, 0, ("inference",) if self.level is Level.LATE else ())

    def regions(self, spent_ms, plan):
        return plan

    def learn(self, steps_ms, plan, regions=0):
        self.learned.append(steps_ms)


class ByHand:
    """A watch whose timer is the test."""

    def __init__(self):
        self.watched = {}
        self.late = set()

    def watch(self, one, deadline_ns, on_late):
        self.watched.setdefault(one.seq, (one, deadline_ns, on_late))

    def speak(self, seq):
        self.late.add(seq)
        one, _, on_late = self.watched[seq]
        on_late(one)

    def claim(self, one):
        self.watched.pop(one.seq)
        return one.seq not in self.late


class Rig:
    """A pipeline around a scripted engine, and what came out of it."""

    def __init__(self, *calls, gate=None, planner=None, watch=None, backend=None, budget_ms=100.0):
        self.backend = backend or Backend(*calls)
        self.watch = watch or ByHand()
        self.planner = planner or Fixed()
        self.ledger = Ledger(["front"])
        self.outcomes, self.steady = [], []
        engine = Engine(
            label=lambda: "fake",
            backend=self.backend,
            preprocessor=SimpleNamespace(run=lambda image, out: LETTERBOX),
            feeds=FEEDS,
            sample=FEEDS["images"][0],
            decode=lambda outputs, letterbox, min_score: Detections.none(),
        )
        judge = SimpleNamespace(
            considered=lambda found: found, judge=lambda found, size_wh, part=None: Judgement(Verdict.OK)
        )
        self.pipeline = Pipeline(
            run_id="run",
            config_hash="c",
            budget_ms=budget_ms,
            engine=engine,
            min_score=0.5,
            gate=gate,
            judge=judge,
            ledger=self.ledger,
            emit=lambda outcome, image: self.outcomes.append(outcome),
            steady=lambda verdict, at_ns: self.steady.append(verdict),
            utc=lambda at_ns: (0, "ok"),
            planner=self.planner,
            watch=self.watch,
        )

    def run(self, one=None):
        one = one or frame()
        self.ledger.capture("front", one.seq)
        self.pipeline.run(one)

    @property
    def said(self):
        """What was published: number, revision, verdict, first reason, late."""
        return [
            (out.seq, out.rev, out.judgement.verdict.value, *(r.code.value for r in out.judgement.reasons), out.late)
            for out in self.outcomes
        ]

    def counts(self):
        counts = self.ledger.counts("front")
        assert counts.balanced, str(counts)
        return str(counts)


class Holding:
    """A gate that holds every frame and gives out what a test says."""

    def __init__(self):
        self.held = []
        self.next = GateStep()

    def see(self, detections, size_wh, exposed_ns, payload):
        self.held.append(payload)
        step, self.next = self.next, GateStep()
        return step

    def choose(self, index):
        return Chosen(1, (0.0, 0.0, 1.0, 1.0), Detections.none(), self.held[index])

    def flush(self):
        return self.next


def faulty(seq=1):
    """A frame that can't be judged."""
    now_ns = time.monotonic_ns()
    return Frame("front", seq, Picture(NO_IMAGE, now_ns, now_ns, fault=Reason(Code.TORN, "torn")), now_ns)


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


def monitor(recorder, events):
    return Monitor(
        "front",
        Budget(100.0, 20.0),
        budget_ms=100.0,
        shares_ms=Shares().stages_ms(100.0),
        recorder=recorder,
        tell=Teller(lambda kind, text, data: events.append((kind, data)), lambda line: None),
    )


def test_mdl_19_a_slow_first_inference_poisons_nothing():
    waited, events, recorder = [], [], Recorder()
    backend = FakeBackend([SPEC], {"out": np.zeros(1, np.float32)}, delays_s=(2, 0.005), wait=waited.append)
    with backend:
        assert waited == [2], "the slow one is the warm-up, before the first frame"
        backend._wait = time.sleep
        planner = monitor(recorder, events)
        rig = Rig(backend=backend, planner=planner)
        for seq in range(1, 101):
            rig.run(frame(seq))
            outcome = rig.outcomes[-1]
            planner.done(outcome)
            recorder.add("front", outcome.trace.columns_ms(), outcome.trace.total_ms, outcome.budget_ms)
    assert {said[2] for said in rig.said} == {"OK"}
    rows = {row.column: row.percentiles for row in recorder.summary().rows}
    assert 5 <= rows["inference"].p50 < 15
    assert rows["inference"].max < 1000
    assert not any(recorder.budget_counts().level_changes.values())
    assert all(over_ms < 1000 for _, data in events for over_ms in data.get("over_ms", {}).values())


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
