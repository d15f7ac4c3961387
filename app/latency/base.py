"""The seams where a frame's time is planned and watched, with stand-ins for lines that wait for nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from app.frame import Frame


class Level(str, Enum):
    """What a frame gets, from everything to nothing; docs/tuning.md says what each gives up."""

    FULL = "full"
    LOCAL_ENGINE = "local_engine"
    FEWER_REGIONS = "fewer_regions"
    NO_REFINE = "no_refine"
    SMALL_INPUT = "small_input"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Plan:
    """What one frame may still afford.

    Attributes:
        level: its name.
        max_regions: regions that the second look may take at most; 0: none.
        skipped: steps left out to be on time, for the result.
        probe: tried against the estimate, to see whether things are better by now.
    """

    level: Level
    max_regions: int = 0
    skipped: tuple[str, ...] = ()
    probe: bool = False


class Planner(Protocol):
    """Says what a frame of one camera may afford; asked before each optional step."""

    def plan(self, spent_ms: float) -> Plan:
        """Plan for a frame that is picked now.

        Args:
            spent_ms: since its exposure.
        """
        ...

    def regions(self, spent_ms: float, plan: Plan) -> Plan:
        """Return the plan again once the frame is decoded, its second look cut to what it can still afford.

        Args:
            spent_ms: since its exposure.
            plan: what was planned when it was picked.
        """
        ...

    def learn(self, steps_ms: Mapping[str, float], plan: Plan, regions: int = 0) -> None:
        """Take the times of one frame's steps.

        Args:
            steps_ms: by step of `app.trace.COLUMN_OF`; those that are known so far.
            plan: what the frame was given.
            regions: how many of them the step `refine` looked at.
        """
        ...


class Watch(Protocol):
    """Sees to it that a frame's first verdict is out by its deadline, whoever gives it."""

    def watch(self, frame: Frame, deadline_ns: int, on_late: Callable[[Frame], None]) -> None:
        """Watch a frame; does nothing for one that is watched already.

        Args:
            frame: one that will be claimed once.
            deadline_ns: on `time.monotonic_ns`.
            on_late: publishes UNKNOWN/late as revision 1; called once, from another thread, unless `claim` comes first.
        """
        ...

    def claim(self, frame: Frame) -> bool:
        """Take the right to publish revision 1, and end the watch; to be called once for every watched frame.

        Returns:
            False where UNKNOWN/late has gone out as revision 1 already.
        """
        ...


class Unhurried:
    """Plans everything for every frame: for pictures that wait for nobody."""

    def __init__(self, max_regions: int = 0) -> None:
        self._plan = Plan(Level.FULL, max_regions)

    def plan(self, spent_ms: float) -> Plan:
        """Plan everything."""
        return self._plan

    def regions(self, spent_ms: float, plan: Plan) -> Plan:
        """Leave the plan as it is."""
        return plan

    def learn(self, steps_ms: Mapping[str, float], plan: Plan, regions: int = 0) -> None:
        """Learn nothing."""


class Unwatched:
    """Watches no deadline: every claim is the first one."""

    def watch(self, frame: Frame, deadline_ns: int, on_late: Callable[[Frame], None]) -> None:
        """Watch nothing."""

    def claim(self, frame: Frame) -> bool:
        """Grant it."""
        return True
