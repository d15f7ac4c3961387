"""What keeps every camera to its budget: one timer for all, one monitor for each that is in a hurry."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from app.capture.kinds import is_live
from app.config import sections
from app.config.budget import budget_ms
from app.latency.aim import Aim
from app.latency.base import Planner, Unhurried, Unwatched, Watch
from app.latency.budget import Budget, Ladder
from app.latency.deadline import Deadline
from app.latency.monitor import Monitor, Teller
from app.latency.rarely import Rarely
from app.latency.recorder import Recorder
from app.steady.urgent import Urgent
from app.verdict import Outcome

logger = logging.getLogger(__name__)

Event = Callable[..., None]


class Budgets:
    """The budgets of one service.

    Args:
        recorder: counts breaches and level changes.
        urgent: has what must go out at the last moment come before all else.
        throttled: returns what holds the machine back, for the level changes.

    Attributes:
        aim: learns how long results take to the network.
        deadline: the timer; a part that the service enters.
    """

    def __init__(self, recorder: Recorder, urgent: Urgent, throttled: Callable[[], tuple[str, ...]] = tuple) -> None:
        self._throttled = throttled
        self._urgent = urgent
        self.aim = Aim()
        self.deadline = Deadline(self.aim, urgency=urgent)
        self._recorder = recorder
        self._monitors: dict[str, Monitor] = {}

    def planner(
        self,
        camera: str,
        section: sections.Camera,
        event: Event,
        stands_in: Callable[[], bool] = lambda: False,
    ) -> Planner:
        """Return what plans a camera's frames.

        Args:
            camera: its name.
            section: of it.
            event: the outbox's.
            stands_in: whether the engine that looks at its frames stands in for one on another machine now.
        """
        regions = 0 if section.refine is None else section.refine.max_regions
        ladder = Ladder(regions, small_input=section.small_model is not None)
        if not has_deadline(section):
            return Unhurried(ladder.max_regions)
        allowed_ms = budget_ms(section.budget_ms)
        monitor = self._monitors[camera] = Monitor(
            camera,
            Budget(allowed_ms, allowed_ms * section.shares.reserve / 100, ladder),
            budget_ms=allowed_ms,
            shares_ms=section.shares.stages_ms(allowed_ms),
            recorder=self._recorder,
            tell=Teller(lambda kind, text, data: event(camera, kind, text, **data), Rarely(partial(logger.info, "%s"))),
            throttled=self._throttled,
            stands_in=stands_in,
        )
        return monitor

    def watch(self, section: sections.Camera) -> Watch:
        """Return what watches a camera's deadlines."""
        return self.deadline if has_deadline(section) else Unwatched()

    def written(self, put_ns: int, at_ns: int) -> None:
        """Take when a result was put into the outbox, and when it was on its way to the broker.

        The aim is for what is urgent, and learns from what went out while the threads were as urgent as they can be.
        """
        if self._urgent.is_hurrying:
            self.aim.handed_over((at_ns - put_ns) / 1e6)

    def done(self, outcome: Outcome) -> None:
        """Take a result that the broker has."""
        if outcome.camera in self._monitors:
            self._monitors[outcome.camera].done(outcome)

    def shown(self, outcome: Outcome) -> None:
        """Take a result that a subscriber has shown."""
        if outcome.camera in self._monitors:
            self._monitors[outcome.camera].shown(outcome)


def has_deadline(section: sections.Camera) -> bool:
    """Whether a camera's frames can be late: those of a file wait until they are wanted, unless it is asked for."""
    return is_live(section.source) if section.deadline is None else section.deadline
