"""How early a verdict must be given up so that the word of it is out in time: as early as it was late before."""

from __future__ import annotations

from threading import Lock

from app.latency.running import Running

WINDOW = 500
PERCENT = "99.5"
"""A little more than the 99 % that are to be in time."""
FIRST_LEAD_MS = 3.0
"""Until enough has been measured."""
MIN_SAMPLES = 20
MARGIN_MS = 0.5
AWAY_MS = 250.0
"""A longer way to the network means that there was none: the broker was away, and no aim makes up for that."""


class Aim:
    """Adds up what happens between the time aimed at and the last byte's way to the network; thread-safe.

    The sum of two percentiles is a little more than the percentile of the sum, which does no harm here.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._woke_ms = Running(WINDOW, PERCENT)
        self._publish_ms = Running(WINDOW, PERCENT)

    def woke(self, late_ms: float) -> None:
        """Take how much later than asked the timer woke."""
        with self._lock:
            self._woke_ms.add(late_ms)

    def handed_over(self, took_ms: float) -> None:
        """Take how long a result took from the outbox to the network."""
        if took_ms <= AWAY_MS:
            with self._lock:
                self._publish_ms.add(took_ms)

    @property
    def lead_ms(self) -> float:
        """How much before the deadline to give up."""
        with self._lock:
            enough = min(self._counts()) >= MIN_SAMPLES
            measured_ms = self._woke_ms.value + self._publish_ms.value + MARGIN_MS
        return measured_ms if enough else max(measured_ms, FIRST_LEAD_MS)

    @property
    def samples(self) -> tuple[int, int]:
        """How many times the timer woke and how many results went to the network, of those that count now."""
        with self._lock:
            return self._counts()

    def _counts(self) -> tuple[int, int]:
        return len(self._woke_ms), len(self._publish_ms)
