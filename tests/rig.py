"""A pipeline around a scripted engine, planner, watch and gate."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np

from app.detections import Detections
from app.engine import HostEngine
from app.frame import NO_IMAGE, Frame, Picture
from app.gate import Chosen, GateStep
from app.latency.base import Level, Plan
from app.ledger import Ledger
from app.letterbox import Letterbox
from app.model import TensorSpec
from app.pipeline import Pipeline
from app.verdict import Code, Judgement, Reason, Verdict
from tests.frames import frame

MS = 1_000_000
WAIT_S = 20
LETTERBOX = Letterbox((6, 4), (6, 4), (6, 4), 0, 0)
SPEC = TensorSpec("images", (1, 3, 4, 6), "float32")
FEEDS = {"images": np.zeros((1, 3, 4, 6), np.float32)}


class Backend:
    """An engine that does what a test says, one call after the other; the last is repeated."""

    provider = "test"

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

    def __init__(self, *calls, gate=None, planner=None, watch=None, backend=None, budget_ms=100.0, **more):
        self.backend = backend or Backend(*calls)
        self.watch = watch or ByHand()
        self.planner = planner or Fixed()
        self.ledger = Ledger(["front"])
        self.outcomes, self.steady, self.judged = [], [], []
        engine = HostEngine(
            name="fake",
            backend=self.backend,
            preprocessor=SimpleNamespace(run=lambda image, out: LETTERBOX),
            feeds=FEEDS,
            sample=FEEDS["images"][0],
            decode=lambda outputs, letterbox, min_score, row: Detections.none(),
        )
        judge = SimpleNamespace(
            considered=lambda found: found, judge=lambda *asked: self.judged.append(asked) or Judgement(Verdict.OK)
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
            **more,
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
