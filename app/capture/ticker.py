"""The clock of a camera that is made up: when each of its pictures is exposed."""

from __future__ import annotations

import time
from collections.abc import Callable
from time import monotonic_ns


class Ticker:
    """Counts pictures from 0 at a fixed rate, on absolute deadlines, so that no delay adds up.

    Paced, it behaves as a camera does, which exposes on its own clock: a reader that comes late gets the newest
    picture, and those it was too late for are counted, never made up. Not paced, the next picture is always there.

    Args:
        fps: pictures a second.
        paced: keep to the clock.
        clock_ns, sleep: the monotonic clock, and how to wait; given by tests.

    Attributes:
        missed: pictures that nobody read in time.
    """

    def __init__(
        self,
        fps: float,
        paced: bool,
        clock_ns: Callable[[], int] = monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._period_ns = 1e9 / fps
        self._paced = paced
        self._clock_ns = clock_ns
        self._sleep = sleep
        self.missed = 0
        self.start()

    def start(self) -> None:
        """Begin again at picture 0, due now."""
        self._began_ns = self._clock_ns()
        self._next = 0

    def tick(self, timeout_s: float) -> tuple[int, int] | None:
        """Wait for the next picture; return its number and when it was exposed, or None where none was due in time."""
        if self._paced and not self._wait(timeout_s):
            return None
        index, self._next = self._next, self._next + 1
        return index, self._due_ns(index) if self._paced else self._clock_ns()

    def _wait(self, timeout_s: float) -> bool:
        """Sleep until the next picture is due and step over those that are past."""
        late_ns = self._clock_ns() - self._due_ns(self._next)
        if late_ns < 0:
            self._sleep(min(timeout_s, -late_ns / 1e9))
            late_ns = self._clock_ns() - self._due_ns(self._next)
        if late_ns < 0:
            return False
        passed = int(late_ns // self._period_ns)
        self.missed += passed
        self._next += passed
        return True

    def _due_ns(self, index: int) -> int:
        return self._began_ns + round(index * self._period_ns)
