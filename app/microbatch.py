"""Whether pictures of several cameras share one call of an engine: only where none of them is late for it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns

WEIGHT = 0.1
"""Of the newest time in the running ones."""
CAUTION = 1.25
"""How much longer than usual a call is taken to last."""
AFTER_NS = 5_000_000
"""What a verdict needs after the engine's call: judged, written, sent."""
BUSY_FROM = 0.7
"""Share of the time that the engine is at work from which on it is worth waiting for company."""
LOAD_NS = 1_000_000_000
"""The load is that of about so long."""


class MicroBatches:
    """What is known of one engine's calls; on the inspect thread only, knows no camera.

    Args:
        most_wait_ms: how long a picture may wait for others at most.
        clock: monotonic, in nanoseconds.
    """

    def __init__(self, most_wait_ms: float, clock: Callable[[], int] = monotonic_ns) -> None:
        self._most_wait_ns = most_wait_ms * 1e6
        self._clock = clock
        self._took_ns: dict[int, float] = {}
        self._load = 0.0
        self._ended_ns = clock()

    def took(self, pictures: int, began_ns: int, ended_ns: int) -> None:
        """Note how long a call with so many pictures lasted."""
        spent_ns = ended_ns - began_ns
        before = self._took_ns.get(pictures, spent_ns)
        self._took_ns[pictures] = before + WEIGHT * (spent_ns - before)
        passed_ns = max(ended_ns - self._ended_ns, 1)
        share = min(passed_ns / LOAD_NS, 1.0)
        self._load += share * (min(spent_ns / passed_ns, 1.0) - self._load)
        self._ended_ns = ended_ns

    @property
    def load(self) -> float:
        """The share of the last second or so in which the engine was at work."""
        idle = min((self._clock() - self._ended_ns) / LOAD_NS, 1.0)
        return self._load * (1 - idle)

    def call_ns(self, pictures: int) -> float:
        """How long a call with so many pictures lasts, by those there were; else as long as one after the other."""
        if pictures in self._took_ns:
            return self._took_ns[pictures]
        known = [(abs(number - pictures), number) for number in self._took_ns]
        if not known:
            return 0.0
        number = min(known)[1]
        return self._took_ns[number] * (pictures / number if pictures > number else 1.0)

    def fits(self, pictures: int, deadline_ns: int) -> bool:
        """Whether a call with so many pictures that begins now is over in time for the earliest of their deadlines."""
        return self._clock() + CAUTION * self.call_ns(pictures) + AFTER_NS <= deadline_ns

    def wait_ns(self, pictures: int, deadline_ns: int) -> int:
        """Return how long it may be waited for one picture more: not at all while the engine has time to spare.

        Args:
            pictures: that are there.
            deadline_ns: the earliest of theirs.
        """
        eager = max(self.load - BUSY_FROM, 0.0) / (1 - BUSY_FROM)
        spare_ns = deadline_ns - self._clock() - CAUTION * self.call_ns(pictures + 1) - AFTER_NS
        return max(0, int(min(eager * self._most_wait_ns, spare_ns)))
