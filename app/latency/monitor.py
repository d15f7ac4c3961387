"""One camera's budget at work: plans its frames, learns from their times, tells of breaches and level changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.latency.base import Level, Plan
from app.latency.budget import Breach, Budget, breaches
from app.latency.recorder import TOTAL, Recorder
from app.verdict import Outcome

FIRST_FRAMES = 5
"""Breaches of a camera's first frames are not told: caches are cold, and the broker's first connection is made."""


@dataclass(frozen=True, slots=True)
class Teller:
    """Whom a monitor tells; none of these waits.

    Attributes:
        event: takes the kind, a line for a person, and data.
        log: takes a line; thins them itself.
    """

    event: Callable[[str, str, dict[str, Any]], None]
    log: Callable[[str], None]


class Monitor:
    """Implements `Planner` for one camera, on the inspect thread; `done` and `shown` are called on the outbox's.

    Args:
        budget: this camera's.
        budget_ms: what a frame is allowed.
        shares_ms: of it, by stage.
        recorder: counts breaches and level changes.
        throttled: returns what holds the machine back; must not wait.
        stands_in: whether the engine here stands in for one on another machine now.
    """

    def __init__(
        self,
        camera: str,
        budget: Budget,
        *,
        budget_ms: float,
        shares_ms: Mapping[str, float],
        recorder: Recorder,
        tell: Teller,
        throttled: Callable[[], tuple[str, ...]] = tuple,
        stands_in: Callable[[], bool] = lambda: False,
    ) -> None:
        self._camera = camera
        self._budget = budget
        self._shares_ms = {**shares_ms, TOTAL: budget_ms}
        self._presentation_ms = self._shares_ms.pop("presentation")
        self._recorder = recorder
        self._tell = tell
        self._throttled = throttled
        self._stands_in = stands_in
        self._level = Level.FULL
        self._frames = 0
        recorder.set_level(camera, self._level.value)

    def plan(self, spent_ms: float) -> Plan:
        """Plan for a frame that is picked now; see `Planner`."""
        plan = self._budget.plan(spent_ms)
        if plan.level is Level.FULL and self._stands_in():
            return replace(plan, level=Level.LOCAL_ENGINE)
        if plan.level is Level.LATE:  # nothing will be learned from it
            self._note(plan)
        return plan

    def regions(self, spent_ms: float, plan: Plan) -> Plan:
        """Cut a frame's second look to what is left; see `Planner`."""
        return self._budget.regions(spent_ms, plan)

    def learn(self, steps_ms: Mapping[str, float], plan: Plan, regions: int = 0) -> None:
        """Take the times of a frame's steps; see `Planner`."""
        self._budget.learn(steps_ms, plan, regions)
        self._note(plan)

    def done(self, outcome: Outcome) -> None:
        """Take a result that the broker has: learn how long that took, and tell of every stage over its share."""
        columns_ms = outcome.trace.columns_ms()
        # A slow broker is a breach, but no reason to stop looking: more than its share is never reckoned with.
        network_ms = min(columns_ms["network"] or 0.0, self._shares_ms["network"])
        self._budget.learn({"publish": network_ms}, Plan(Level(outcome.level)))
        self._frames += 1
        if self._frames > FIRST_FRAMES:
            self._report(outcome, breaches({**columns_ms, TOTAL: outcome.trace.total_ms}, self._shares_ms))

    def shown(self, outcome: Outcome) -> None:
        """Take a result that a subscriber has shown."""
        if self._frames > FIRST_FRAMES:
            share = {"presentation": self._presentation_ms}
            self._report(outcome, breaches(outcome.trace.columns_ms(), share))

    def _note(self, plan: Plan) -> None:
        """Tell of another level than the frame before had."""
        before, self._level = self._level, plan.level
        if plan.level is before:
            return
        self._recorder.set_level(self._camera, plan.level.value)
        throttle = self._throttled()
        why = f"; the machine is held back ({'; '.join(throttle)})" if throttle else ""
        text = f"level {plan.level.value}, before {before.value}{why}"
        data: dict[str, Any] = {"level": plan.level.value, "before": before.value}
        self._tell.event("level", text, {**data, "throttle": list(throttle)} if throttle else data)
        self._tell.log(f"{self._camera}: {text}")

    def _report(self, outcome: Outcome, found: tuple[Breach, ...]) -> None:
        if not found:
            return
        for breach in found:
            self._recorder.count_breach(self._camera, breach.stage)
        text = "; ".join(f"{it.stage} took {it.took_ms:.1f} of {it.share_ms:.1f} ms" for it in found)
        over_ms = {breach.stage: round(breach.over_ms, 3) for breach in found}
        data = {"trace_id": outcome.trace_id, "seq": outcome.seq, "rev": outcome.rev, "over_ms": over_ms}
        self._tell.event("breach", text, data)
        self._tell.log(f"{self._camera}: frame {outcome.seq}: {text}")
