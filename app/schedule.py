"""Which frame goes next: the one with the earliest deadline over all cameras, and no camera behind its share."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from threading import Condition
from time import monotonic
from typing import Protocol

from app.frame import Frame

AHEAD = 2.0
"""How many pictures a camera of priority 1 may be ahead of another that waits all the time."""

CREDIT = AHEAD
"""How many pictures a camera that did not wait for a moment may make up for: between two pictures none waits."""


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
    """One camera's hand-off, what its frames are allowed, and its share under overload."""

    waiting: Waiting
    budget_ns: int
    priority: float = 1.0


@dataclass(slots=True)
class _Share:
    """What a camera had of the engine, in pictures divided by its priority.

    After start-time fair queueing (Goyal, Vin, Cheng, 1996): a camera that begins to wait starts where the others are,
    but for a small credit, so that little is saved up; one that waits falls behind the others as they are served.
    """

    begins: float = 0.0
    is_waiting: bool = False


class Schedule:
    """Waits on all lanes at once.

    The earliest deadline (exposure + budget) goes first. Where there is more to look at than can be, that alone would
    starve a camera whose frames have more time: newer ones take their place before they are ever the most urgent. So a
    camera that waits all the time and is `AHEAD` pictures behind its share goes before the urgent one.

    Args:
        lanes: by camera.
        bell: the condition that every hand-off rings.
    """

    def __init__(self, lanes: Mapping[str, Lane], bell: Condition) -> None:
        self._lanes = dict(lanes)
        self._shares = {camera: _Share() for camera in lanes}
        self._virtual = 0.0
        self._bell = bell

    def next(self, timeout_s: float) -> Frame | None:
        """Return the frame that goes next, or None where none came in time."""
        with self._bell:
            self._bell.wait_for(lambda: self._any_waits() or self._all_drained(), timeout_s)
            return self._take(self._choose(self._lanes))

    def also(self, cameras: Container[str], wait_ns: int = 0) -> Frame | None:
        """Return the most urgent frame of some cameras, to go along with another one; None where none came in time."""
        until_s = monotonic() + wait_ns / 1e9
        with self._bell:
            while True:
                chosen = self._choose({name: lane for name, lane in self._lanes.items() if name in cameras})
                left_s = until_s - monotonic()
                if chosen is not None or left_s <= 0:
                    return self._take(chosen)
                self._bell.wait(left_s)

    def deadline_ns(self, frame: Frame) -> int:
        """When a frame's verdict is due."""
        return frame.picture.exposed_ns + self._lanes[frame.camera].budget_ns

    def least_budget_ns(self) -> int:
        """The tightest budget of all cameras; 0 where there is none."""
        with self._bell:
            return min((lane.budget_ns for lane in self._lanes.values()), default=0)

    def put(self, camera: str, lane: Lane) -> None:
        """Take frames of a camera, or of its new hand-off in place of the old one."""
        with self._bell:
            self._lanes[camera] = lane
            self._shares.setdefault(camera, _Share())
            self._bell.notify_all()

    def remove(self, camera: str) -> None:
        """Take no more frames of a camera."""
        with self._bell:
            del self._lanes[camera], self._shares[camera]

    def drained(self) -> set[str]:
        """Return the cameras that have given their last frame."""
        with self._bell:
            return {camera for camera, lane in self._lanes.items() if lane.waiting.drained}

    # ── with the bell held ───────────────────────────────────────────────────────────────────────────────────────────

    def _any_waits(self) -> bool:
        return any(lane.waiting.oldest_exposed_ns() is not None for lane in self._lanes.values())

    def _all_drained(self) -> bool:
        return all(lane.waiting.drained for lane in self._lanes.values())

    def _choose(self, lanes: Mapping[str, Lane]) -> str | None:
        due_ns = {
            camera: exposed_ns + lane.budget_ns
            for camera, lane in lanes.items()
            if (exposed_ns := lane.waiting.oldest_exposed_ns()) is not None
        }
        if not due_ns:
            return None
        for camera in due_ns:
            share = self._shares[camera]
            if not share.is_waiting:
                share.begins, share.is_waiting = max(share.begins, self._virtual - CREDIT), True
        urgent = min(due_ns, key=due_ns.__getitem__)
        behind = min(due_ns, key=lambda camera: self._shares[camera].begins)
        gap = self._shares[urgent].begins - self._shares[behind].begins
        return behind if gap > AHEAD else urgent

    def _take(self, camera: str | None) -> Frame | None:
        if camera is None:
            return None
        lane, share = self._lanes[camera], self._shares[camera]
        frame = lane.waiting.take()
        self._virtual = share.begins
        share.begins += 1 / lane.priority
        share.is_waiting = lane.waiting.oldest_exposed_ns() is not None
        return frame
