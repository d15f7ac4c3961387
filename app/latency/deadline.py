"""Publishes UNKNOWN/late by a frame's deadline where nobody else has spoken, even while the engine hangs."""

from __future__ import annotations

import heapq
import itertools
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, Thread
from types import TracebackType
from typing import Protocol

from typing_extensions import Self

from app.frame import Frame
from app.latency.aim import Aim

logger = logging.getLogger(__name__)

MOST_EARLY = 4
"""Never give up before three quarters of the budget are over, however bad the aim."""
STOP_S = 2.0

NEAR_NS = 10_000_000
"""Before the timer would speak: a verdict that is claimed then is as urgent as what the timer says."""

Key = tuple[str, int]


class Urgency(Protocol):
    """What brings messages out sooner for a while; both calls may come from any thread."""

    def hurry(self) -> None:
        """Something urgent is about to be published."""
        ...

    def calm(self) -> None:
        """Nothing urgent is known of now."""
        ...


class NotUrgent:
    """An `Urgency` that changes nothing."""

    def hurry(self) -> None:
        """Do nothing."""

    def calm(self) -> None:
        """Do nothing."""


@dataclass(slots=True, eq=False)
class _Entry:
    """One frame whose first verdict is due; lets go of the picture once somebody has claimed it."""

    frame: Frame | None
    on_late: Callable[[Frame], None]
    due_ns: int
    state: str = "open"  # open → claimed, or open → speaking → late


class Deadline:
    """One timer thread for all cameras; implements `Watch`.

    Each watched frame is claimed once: by whoever publishes its verdict, or by the timer. A claim that comes while the
    timer publishes waits until it has, so that revision 2 never overtakes revision 1.

    Args:
        aim: how early to be.
        now_ns: the clock, for tests.
        urgency: told when a first verdict goes out at the last moment.
    """

    def __init__(self, aim: Aim, now_ns: Callable[[], int] = time.monotonic_ns, urgency: Urgency | None = None) -> None:
        self._aim = aim
        self._urgency = urgency or NotUrgent()
        self._now_ns = now_ns
        self._changed = Condition()
        # All of the following under `_changed`, which is not held while a verdict is published.
        self._entries: dict[Key, _Entry] = {}
        self._heap: list[tuple[int, int, _Entry]] = []
        self._numbers = itertools.count()
        self._stop = False
        self._thread = Thread(target=self._run, name="deadline", daemon=False)

    def __enter__(self) -> Self:
        """Start the thread."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop; what is still watched is no longer."""
        with self._changed:
            self._stop = True
            self._changed.notify_all()
        self._thread.join(STOP_S)

    @property
    def watched(self) -> int:
        """How many frames are watched, those included that are late and not claimed yet."""
        with self._changed:
            return len(self._entries)

    def watch(self, frame: Frame, deadline_ns: int, on_late: Callable[[Frame], None]) -> None:
        """Watch a frame; see `Watch`."""
        most_ns = (deadline_ns - frame.picture.exposed_ns) // MOST_EARLY
        due_ns = deadline_ns - min(int(self._aim.lead_ms * 1e6), most_ns)
        key = frame.camera, frame.seq
        with self._changed:
            if key in self._entries:
                return
            entry = self._entries[key] = _Entry(frame, on_late, due_ns)
            heapq.heappush(self._heap, (due_ns, next(self._numbers), entry))
            if self._heap[0][2] is entry:
                self._changed.notify_all()

    def claim(self, frame: Frame) -> bool:
        """Take the right to publish revision 1; see `Watch`."""
        with self._changed:
            entry = self._entries.pop((frame.camera, frame.seq))
            is_ours = entry.state == "open"
            if is_ours:
                entry.state, entry.frame = "claimed", None
            else:
                self._changed.wait_for(lambda: entry.state == "late")
        if is_ours and self._now_ns() > entry.due_ns - NEAR_NS:
            self._urgency.hurry()
        return is_ours

    def speak_due(self) -> int | None:
        """Publish what is due; return when the next one is, None where nothing is watched."""
        while True:
            with self._changed:
                entry, due_ns = self._pop_due()
            if entry is None:
                return due_ns
            self._speak(entry)

    # ── the thread ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        while not self._stop:
            due_ns = self.speak_due()
            self._urgency.calm()
            self._wait_until(due_ns)

    def _pop_due(self) -> tuple[_Entry | None, int | None]:
        """Take the first open entry that is due, or say when the next one is; claimed ones are let go on the way.

        Also those whose time has not come: nothing is to be done then, and to wake for them would take the engine's
        processor from it once for each frame.
        """
        while self._heap:
            due_ns, _, entry = self._heap[0]
            is_open = entry.state == "open"
            if is_open and due_ns > self._now_ns():
                return None, due_ns
            heapq.heappop(self._heap)
            if is_open:
                entry.state = "speaking"
                return entry, due_ns
        return None, None

    def _speak(self, entry: _Entry) -> None:
        frame = entry.frame
        assert frame is not None, "an open entry has its frame"
        self._urgency.hurry()
        try:
            entry.on_late(frame)
        except Exception:  # as at a thread's root: one frame's fault must not take the deadline from all others
            logger.exception("%s: frame %d: UNKNOWN/late could not be published", frame.camera, frame.seq)
        with self._changed:
            entry.state, entry.frame = "late", None
            self._changed.notify_all()

    def _wait_until(self, due_ns: int | None) -> None:
        """Sleep until then, or until an earlier time is to be watched; learn how exact that was."""
        with self._changed:
            if self._stop or (self._heap[0][0] if self._heap else None) != due_ns:
                return
            if due_ns is None:
                self._changed.wait()
                return
            if self._changed.wait((due_ns - self._now_ns()) / 1e9):
                return
            woke_ns = self._now_ns()
        self._aim.woke(max(0, woke_ns - due_ns) / 1e6)
