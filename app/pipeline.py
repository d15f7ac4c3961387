"""The steps of one camera's frames in order; stamps the trace and settles every frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic_ns
from typing import Protocol, TypeAlias

from app.detections import Detections
from app.engine import Engine, Found, Look
from app.errors import BadOutput
from app.frame import AnyImage, Frame
from app.gate import Chosen, Gate
from app.latency.base import Level, Plan, Planner, Unhurried, Unwatched, Watch
from app.ledger import Fate, Ledger
from app.refine.base import Region, SecondLook, doubts_of
from app.static import Static
from app.trace import Trace
from app.verdict import Code, Judgement, Outcome, Reason, Verdict

Box: TypeAlias = tuple[float, float, float, float]


class Judge(Protocol):
    """The rules of one camera."""

    def considered(self, detections: Detections) -> Detections:
        """Return the detections that score enough for their class to take part in the judgement."""
        ...

    def judge(
        self,
        detections: Detections,
        size_wh: tuple[int, int],
        part_xyxy: Box | None = None,
        doubts: Sequence[Reason] = (),
    ) -> Judgement:
        """Say OK, NG or UNKNOWN of one set of detections."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A frame after the engine looked at it.

    Attributes:
        engine: what looked.
        plan: what it could afford.
        rev: of the verdict that follows, 2 where UNKNOWN/late has gone out already; None while that is open.
        late: UNKNOWN/late has gone out already.
        looked: the regions that were looked at twice.
        reused: the engine did not look: it had seen the same picture a moment ago.
        unlooked: those that would have been, but for the time.
        nearest: the least distance of a score to a threshold of the rules, where somebody wants to know.
    """

    frame: Frame
    trace: Trace
    decoded_ns: int
    engine: Engine
    plan: Plan
    rev: int | None = None
    late: bool = False
    looked: tuple[Region, ...] = ()
    reused: bool = False
    unlooked: tuple[Region, ...] = ()
    nearest: float | None = None


Emit: TypeAlias = Callable[[Outcome, AnyImage], None]
"""Takes an outcome and the picture it was judged on, on the inspect or the deadline thread; must not wait."""

Border: TypeAlias = Callable[[Detections], tuple[Detections, float | None]]

DOING = {
    "slot": "preprocess",
    "preprocess": "inference",
    "inference": "decode",
    "decode": "refine or judge",
    "refine": "judge",
    "judge": "judge",
}
"""What a frame is in, by the last step that it has behind it."""

PAUSED = Reason(Code.PAUSED, "the camera is paused by a command")


class Pipeline:
    """Takes one camera's frames from the schedule to an outcome.

    Args:
        run_id: unique for this start of the service; makes trace ids unique.
        config_hash: of the configuration by which it judges; changed on the inspect thread.
        budget_ms: from the exposure to the broker's acknowledgement.
        min_score: what scores less takes no part in the judgement.
        gate: chooses one picture per part, or None where each picture is a part.
        small: a network with a smaller input and the same classes, for when the budget affords no more; or None.
        second: looks again at parts of the picture, or None.
        coarse_first: publish what the first look says at once, and override it after the second; without a gate only.
        second_required: a region that there was no time to look at again is a doubt.
        emit: called once for each verdict.
        steady: told of each verdict that the rules gave, and of its picture's exposure, for debouncing.
        utc: wall clock in nanoseconds of a time on `time.monotonic_ns`, for labels, and how good that clock is.
        on_passed: told of each frame that the gate passed over; must not wait.
        planner: says what a frame may still afford.
        watch: publishes UNKNOWN/late by the deadline where the verdict is not ready.
        static: remembers the last picture, where what was found in it may be used again.
        border: takes what was found, and returns it with the least distance of a score to a threshold of the rules.
    """

    def __init__(
        self,
        *,
        run_id: str,
        config_hash: str,
        budget_ms: float,
        engine: Engine,
        min_score: float,
        gate: Gate[Seen] | None,
        judge: Judge,
        ledger: Ledger,
        emit: Emit,
        steady: Callable[[Verdict, int], None],
        utc: Callable[[int], tuple[int, str]],
        small: Engine | None = None,
        second: SecondLook | None = None,
        coarse_first: bool = False,
        second_required: bool = False,
        on_passed: Callable[[Frame, Trace], None] = lambda *_: None,
        planner: Planner | None = None,
        watch: Watch | None = None,
        static: Static | None = None,
        border: Border = lambda found: (found, None),
    ) -> None:
        self._run_id = run_id
        self.config_hash = config_hash
        self._budget_ms = budget_ms
        self.engine = engine
        self._min_score = min_score
        self.gate = gate
        self._judge = judge
        self._ledger = ledger
        self._emit = emit
        self._steady = steady
        self._utc = utc
        self._small = small
        self._second = second
        self._coarse_first = coarse_first
        self._second_required = second_required
        self._unseen_parts = 0
        self._on_passed = on_passed
        self.planner = planner or Unhurried()
        self._watch = watch or Unwatched()
        self._border = border
        self._at: Trace | None = None
        self._static = static
        self.is_paused = False
        """Whether pictures are UNKNOWN without a look; changed on the inspect thread."""

    def expect(self, frame: Frame) -> None:
        """Have a frame's deadline watched from now on; `run` does so where nobody did before."""
        self._watch.watch(frame, self._deadline_ns(frame), self.late)

    def late(self, frame: Frame) -> None:
        """Publish UNKNOWN/late; called on the deadline thread, which has claimed the frame."""
        trace, at, doing = self._begin(frame), self._at, "waiting"
        if at is not None and at.trace_id == trace.trace_id:
            trace.spans[:] = at.spans  # what is behind it; the span that hangs is not there yet
            doing = DOING[trace.spans[-1][0]]
        seen = Seen(frame, trace, monotonic_ns(), self.engine, Plan(Level.LATE), 1)
        self._say_late(seen, f"no verdict yet: {doing}")

    def run(self, frame: Frame) -> None:
        """Take one frame as far as it goes now: to an outcome, into the gate, or past it."""
        seen = self.begin(frame)
        if seen is not None:
            known = self.known(seen)
            found = seen.engine.look([self.look(seen)])[0] if known is None else known
            self.see(seen, found, reused=known is not None)

    def begin(self, frame: Frame) -> Seen | None:
        """Plan what a frame may afford; None where its outcome is known without a look."""
        trace = self._at = self._begin(frame)
        self.expect(frame)
        fault = PAUSED if self.is_paused else frame.picture.fault
        if fault is not None:
            self._fail(Seen(frame, trace, monotonic_ns(), self.engine, Plan(Level.FULL)), fault)
            return None
        plan = self.planner.plan(self._spent_ms(frame))
        seen = Seen(frame, trace, monotonic_ns(), self._engine_of(plan), plan)
        if plan.level is Level.LATE:
            self._give_up(seen)
            return None
        return seen

    def known(self, seen: Seen) -> Found | None:
        """Return what was found in the same picture a moment ago, where that may be used again; None: look."""
        if self._static is None or seen.frame.trigger:
            return None
        return self._static.known(seen.frame.image, seen.engine.label())

    def look(self, seen: Seen) -> Look:
        """Return what its engine is to be asked of a frame that has begun; the time since then was waited."""
        if seen.engine.most > 1:
            seen.trace.add("slot", seen.decoded_ns, monotonic_ns())
        return Look(seen.frame.image, self._min_score, seen.trace, self._deadline_ns(seen.frame))

    def see(self, seen: Seen, found: Found, *, reused: bool = False) -> None:
        """Take a frame on from what its engine found, now or in the same picture before."""
        if reused:
            seen = replace(seen, reused=True)
        elif self._static is not None:
            self._static.keep(seen.frame.image, seen.engine.label(), found)
        frame, trace = seen.frame, seen.trace
        try:
            coarse = _sound(found)
            seen = self._before_second_look(seen, coarse)
            seen, detections = self._look_again(seen, coarse)
        except BadOutput as error:
            self._fail(seen, Reason(Code.BAD_OUTPUT, str(error)))
            return
        self.planner.learn(_steps_ms(trace), seen.plan, len(seen.looked))
        if self.gate is None:
            self._conclude(seen, detections)
            return
        # The deadline ends here: how long the gate then waits for a better view is the belt's doing, not the engine's.
        seen = self._claimed(replace(seen, decoded_ns=monotonic_ns()))
        step = self.gate.see(detections, frame.picture.size_wh, frame.picture.exposed_ns, seen)
        self._unseen_parts += step.missed
        self._settle(step.chosen, step.passed)

    def finish(self) -> None:
        """Judge what the gate still holds; the camera has given its last frame."""
        if self.gate is not None:
            step = self.gate.flush()
            self._settle(step.chosen, step.passed)

    def _deadline_ns(self, frame: Frame) -> int:
        return frame.picture.exposed_ns + int(self._budget_ms * 1e6)

    def _begin(self, frame: Frame) -> Trace:
        picture = frame.picture
        trace = Trace(f"{self._run_id}-{frame.camera}-{frame.seq:06d}", picture.exposed_ns)
        trace.add("capture", picture.exposed_ns, picture.arrived_ns)
        trace.add("guard", picture.arrived_ns, frame.queued_ns)
        trace.add("slot", frame.queued_ns, monotonic_ns())
        return trace

    def _engine_of(self, plan: Plan) -> Engine:
        """Return the network that a frame can afford."""
        return self._small if plan.level is Level.SMALL_INPUT and self._small is not None else self.engine

    def _before_second_look(self, seen: Seen, coarse: Detections) -> Seen:
        """Ask how many regions the budget still affords; publish the first look's verdict where that is asked for."""
        if self._second is None:
            return seen
        seen = replace(seen, plan=self.planner.regions(self._spent_ms(seen.frame), seen.plan))
        return self._say_coarse(seen, coarse) if self._coarse_first and seen.plan.max_regions else seen

    def _look_again(self, seen: Seen, coarse: Detections) -> tuple[Seen, Detections]:
        """Look twice at what is worth it and affordable; return what takes part in the judgement."""
        if self._second is None or not (seen.plan.max_regions or self._second_required):
            return self._considered(seen, coarse)
        with seen.trace.step("refine"):
            refined = self._second.run(seen.frame.image, coarse, seen.plan.max_regions)
            seen = replace(seen, looked=refined.looked, unlooked=refined.unlooked)
            return self._considered(seen, refined.detections)

    def _considered(self, seen: Seen, found: Detections) -> tuple[Seen, Detections]:
        """Return what takes part in the judgement, and the frame with how near it was to another one."""
        found, nearest = self._border(found)
        return seen if nearest is None else replace(seen, nearest=nearest), self._judge.considered(found)

    def _say_coarse(self, seen: Seen, coarse: Detections) -> Seen:
        """Publish what the first look says; return the frame for the verdict that overrides it."""
        first = self._claimed(replace(seen, trace=seen.trace.copy()))
        detections = self._judge.considered(coarse)
        with first.trace.step("judge"):
            judgement = self._judge.judge(detections, seen.frame.picture.size_wh)
        self._end(first, Fate.JUDGED)
        self._publish(first, judgement, detections)
        assert first.rev is not None, "claimed above"
        return replace(seen, rev=first.rev + 1, late=first.late)

    def _settle(self, chosen: tuple[Chosen[Seen], ...], passed: tuple[Seen, ...]) -> None:
        for seen in passed:
            if self._unseen_parts:
                self._unseen_parts -= 1
                self._fail(seen, Reason(Code.NO_PART, "a part passed the line and was whole in no picture"))
            else:
                self._end(seen, Fate.SKIPPED)
                self._on_passed(seen.frame, seen.trace)
        for choice in chosen:
            choice.payload.trace.add("gate", choice.payload.decoded_ns, monotonic_ns())
            self._conclude(choice.payload, choice.detections, choice.part, choice.region_xyxy)

    def _conclude(
        self, seen: Seen, detections: Detections, part: int | None = None, region_xyxy: Box | None = None
    ) -> None:
        with seen.trace.step("judge"):
            doubts = doubts_of(seen.unlooked) if self._second_required else ()
            judgement = self._judge.judge(detections, seen.frame.picture.size_wh, region_xyxy, doubts)
        self.planner.learn({"judge": _steps_ms(seen.trace)["judge"]}, seen.plan)
        seen = self._claimed(seen)
        self._end(seen, Fate.JUDGED)
        self._steady(judgement.verdict, seen.frame.picture.exposed_ns)
        self._publish(seen, judgement, detections, part, region_xyxy)

    def _fail(self, seen: Seen, reason: Reason) -> None:
        seen = self._claimed(seen)
        self._end(seen, Fate.FAILED)
        self._publish(seen, Judgement(Verdict.UNKNOWN, (reason,)), Detections.none())

    def _give_up(self, seen: Seen) -> None:
        """Say that a frame is too old to be looked at, unless the deadline has said so."""
        if self._claim(seen.frame) == 1:
            self._say_late(replace(seen, rev=1), "too old when it was picked")

    def _say_late(self, seen: Seen, why: str) -> None:
        self._end(seen, Fate.LATE)
        text = f"{why}, {self._spent_ms(seen.frame):.0f} of {self._budget_ms:g} ms after the exposure"
        self._publish(seen, Judgement(Verdict.UNKNOWN, (Reason(Code.LATE, text),)), Detections.none())

    def _claim(self, frame: Frame) -> int:
        """Return the revision of a verdict that is published from here on."""
        return 1 if self._watch.claim(frame) else 2

    def _claimed(self, seen: Seen) -> Seen:
        """Return it with its revision, claimed now where the gate did not do so before."""
        if seen.rev is not None:
            return seen
        rev = self._claim(seen.frame)
        return replace(seen, rev=rev, late=rev > 1)

    def _end(self, seen: Seen, fate: Fate) -> None:
        """Settle a frame's fate, unless it is late already."""
        if seen.rev == 1:
            self._ledger.settle(seen.frame.camera, seen.frame.seq, fate)

    @staticmethod
    def _spent_ms(frame: Frame) -> float:
        return (monotonic_ns() - frame.picture.exposed_ns) / 1e6

    def _publish(
        self,
        seen: Seen,
        judgement: Judgement,
        detections: Detections,
        part: int | None = None,
        region_xyxy: Box | None = None,
    ) -> None:
        frame, rev = seen.frame, seen.rev
        assert rev is not None, "claimed before it is published"
        captured_utc_ns, clock = self._utc(frame.picture.exposed_ns)
        outcome = Outcome(
            trace_id=seen.trace.trace_id,
            camera=frame.camera,
            seq=frame.seq,
            judgement=judgement,
            size_wh=frame.picture.size_wh,
            detections=detections,
            trace=seen.trace,
            budget_ms=self._budget_ms,
            captured_utc_ns=captured_utc_ns,
            rev=rev,
            clock=clock,
            label=frame.picture.label,
            part=part,
            region_xyxy=region_xyxy,
            model=seen.engine.label(),
            config_hash=self.config_hash,
            looked=seen.looked,
            unlooked=seen.unlooked,
            skipped=seen.plan.skipped,
            level=seen.plan.level.value,
            late=seen.late,
            trigger=frame.trigger,
            reused=seen.reused,
            nearest=seen.nearest,
        )
        self._emit(outcome, frame.image)


def _sound(found: Found) -> Detections:
    """Return what was found.

    Raises:
        BadOutput: the network's numbers can't be.
    """
    if isinstance(found, BadOutput):
        raise found
    return found


def _steps_ms(trace: Trace) -> dict[str, float]:
    """Return how long each step of a trace took."""
    return {step: (ended_ns - began_ns) / 1e6 for step, began_ns, ended_ns in trace.spans}
