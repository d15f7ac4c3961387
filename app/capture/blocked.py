"""How long a thread has not gone on, by the beats of whoever watches it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

MOST_S = 0.5
"""What one look counts for at most: a machine that slept, or is so busy that nobody is looked at, blames no driver."""


class Blocked:
    """Sums up the time between looks in which nothing moved.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._looked_s = clock()
        self._moves = -1
        self._blocked_s = 0.0

    def look(self, moves: int) -> float:
        """Return for how many seconds it has stood at `moves`."""
        now_s = self._clock()
        passed_s, self._looked_s = min(MOST_S, now_s - self._looked_s), now_s
        self._blocked_s = self._blocked_s + passed_s if moves == self._moves else 0.0
        self._moves = moves
        return self._blocked_s
