"""Which frame goes next: the one with the earliest deadline over all cameras."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Condition
from typing import Protocol

from app.frame import Frame


class Waiting(Protocol):
    """What the schedule needs of a camera's hand-off; called with the bell held."""

    def oldest_exposed_ns(self) -> int | None:
        """When the frame that would be taken next came to be, or None where none waits."""
        ...

    def take(self) -> Frame:
        """Take that frame."""
        ...

    @property
    def drained(self) -> bool:
        """Whether the last frame has been taken and none will follow."""
        ...


@dataclass(frozen=True, slots=True)
class Lane:
    """One camera's hand-off and what its frames are allowed."""

    waiting: Waiting
    budget_ns: int


class Schedule:
    """Waits on all lanes at once.

    Args:
        lanes: by camera.
        bell: the condition that every hand-off rings.
    """

    def __init__(self, lanes: Mapping[str, Lane], bell: Condition) -> None:
        self._lanes = dict(lanes)
        self._bell = bell

    def next(self, timeout_s: float) -> Frame | None:
        """Return the frame whose deadline (exposure + budget) comes first, or None where none came in time."""
        with self._bell:
            self._bell.wait_for(lambda: self._earliest() is not None or self._all_drained(), timeout_s)
            lane = self._earliest()
            return None if lane is None else lane.waiting.take()

    def put(self, camera: str, lane: Lane) -> None:
        """Take frames of a camera, or of its new hand-off in place of the old one."""
        with self._bell:
            self._lanes[camera] = lane
            self._bell.notify_all()

    def remove(self, camera: str) -> None:
        """Take no more frames of a camera."""
        with self._bell:
            del self._lanes[camera]

    def drained(self) -> set[str]:
        """Return the cameras that have given their last frame."""
        with self._bell:
            return {camera for camera, lane in self._lanes.items() if lane.waiting.drained}

    def _all_drained(self) -> bool:
        return all(lane.waiting.drained for lane in self._lanes.values())

    def _earliest(self) -> Lane | None:
        best: tuple[int, Lane] | None = None
        for lane in self._lanes.values():
            exposed_ns = lane.waiting.oldest_exposed_ns()
            if exposed_ns is not None and (best is None or exposed_ns + lane.budget_ns < best[0]):
                best = exposed_ns + lane.budget_ns, lane
        return best and best[1]
