"""Every frame's one fate, per camera: what was captured and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from threading import Lock


class Fate(str, Enum):
    """How a frame ended; each captured frame ends exactly once."""

    JUDGED = "judged"  # a verdict by the rules went out
    OVERWRITTEN = "overwritten"  # a newer frame took its place in the slot
    SKIPPED = "skipped"  # the gate judged another picture of the same part, or there was no part in it
    LATE = "late"  # UNKNOWN/late went out instead
    FAILED = "failed"  # the picture or the engine's output could not be judged: UNKNOWN went out


@dataclass(frozen=True, slots=True)
class Counts:
    """One camera's frames since the start; `captured` equals the sum of the others (`balanced`)."""

    captured: int
    judged: int
    overwritten: int
    skipped: int
    late: int
    failed: int
    waiting: int
    settled_twice: int = 0

    def __str__(self) -> str:
        """Say it for a person, what is 0 left out."""
        parts = {name: getattr(self, name) for name in (*(fate.value for fate in Fate), "waiting", "settled_twice")}
        return f"{self.captured} captured = " + (" + ".join(f"{n} {name}" for name, n in parts.items() if n) or "0")

    @property
    def balanced(self) -> bool:
        """Whether every captured frame has one fate or is still on its way."""
        ended = self.judged + self.overwritten + self.skipped + self.late + self.failed
        return self.captured == ended + self.waiting and not self.settled_twice


class Ledger:
    """Keeps, per camera, which frames are on their way and how the others ended.

    The frames on their way are held by number, so that one that ends twice or never is seen, not averaged away. Safe to
    call from any thread.
    """

    def __init__(self, cameras: Iterable[str]) -> None:
        self._lock = Lock()
        self._on_their_way: dict[str, set[int]] = {camera: set() for camera in cameras}
        self._counts: dict[str, Counter[str]] = {camera: Counter() for camera in self._on_their_way}

    @property
    def cameras(self) -> tuple[str, ...]:
        """The cameras that it knows."""
        return tuple(self._counts)

    def add(self, camera: str) -> None:
        """Keep a camera's frames as well; one that is known already goes on counting."""
        with self._lock:
            self._on_their_way.setdefault(camera, set())
            self._counts.setdefault(camera, Counter())

    def capture(self, camera: str, seq: int) -> None:
        """Note that a frame was captured."""
        with self._lock:
            self._on_their_way[camera].add(seq)
            self._counts[camera]["captured"] += 1

    def settle(self, camera: str, seq: int, fate: Fate) -> None:
        """Note how a frame ended."""
        with self._lock:
            known = seq in self._on_their_way[camera]
            self._on_their_way[camera].discard(seq)
            self._counts[camera][fate.value if known else "settled_twice"] += 1

    def counts(self, camera: str) -> Counts:
        """Return one camera's counts as they stand."""
        with self._lock:
            ended = {name: self._counts[camera][name] for name in ("captured", "settled_twice", *Fate)}
            return Counts(waiting=len(self._on_their_way[camera]), **ended)
