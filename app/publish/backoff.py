"""How long to wait before the broker is called again."""

from __future__ import annotations

import random
from collections import deque

MAX_DOUBLINGS = 6
SHORT_LIFE_S = 10.0
WINDOW_S = 60.0
KICKED = 4
"""So many short connections within the window mean that something throws this client out."""


class Backoff:
    """Doubles the pause with each failure and with each connection that was cut off soon after it stood.

    Args:
        first_s: seconds before the second try.
        max_s: seconds at most between tries.
        jitter: share of the pause that is random, so that clients don't knock in step.
    """

    def __init__(self, first_s: float = 0.5, max_s: float = 15.0, jitter: float = 0.2) -> None:
        self._first_s = first_s
        self._max_s = max_s
        self._jitter = jitter
        self._failures = 0
        self._short_lives: deque[float] = deque(maxlen=32)

    def failed(self) -> None:
        """A try to connect has failed."""
        self._failures += 1

    def refused(self) -> None:
        """The broker has said that it does not want this client: the longest pause from now on."""
        self._failures = max(self._failures, MAX_DOUBLINGS + 1)

    def lived(self, seconds: float, now_s: float) -> None:
        """A connection that stood for so long has ended."""
        self._failures = 0
        if seconds < SHORT_LIFE_S:
            self._short_lives.append(now_s)

    def is_kicked(self, now_s: float) -> bool:
        """Return whether connections keep being cut off soon after they stand."""
        return self._short_lives_since(now_s - WINDOW_S) >= KICKED

    def pause_s(self, now_s: float) -> float:
        """Return the seconds to wait before the next try."""
        doublings = max(self._failures, self._short_lives_since(now_s - WINDOW_S)) - 1
        pause_s = min(self._max_s, self._first_s * float(1 << min(max(doublings, 0), MAX_DOUBLINGS)))
        return pause_s * (1 - self._jitter * random.random())  # noqa: S311 - spreads clients, guards nothing

    def _short_lives_since(self, since_s: float) -> int:
        return sum(at_s >= since_s for at_s in self._short_lives)
