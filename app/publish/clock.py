"""Wall-clock labels for monotonic times, with a note when the wall clock was set."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import NamedTuple

STEP_NS = 500_000_000
"""The wall clock moved by more than this against the monotonic one: somebody set it."""
SLEW_SHARE = 0.001
"""NTP turns the wall clock faster or slower by at most half of this; that is no step."""
NOTE_NS = 60_000_000_000
"""How long labels carry the note after a step."""


class Label(NamedTuple):
    """A wall-clock time that is only ever shown, never counted with.

    Attributes:
        utc_ns: nanoseconds since 1970.
        note: "ok", or "step" where the wall clock was set a moment ago, so that labels may repeat or leave a gap.
    """

    utc_ns: int
    note: str


class UtcClock:
    """Turns times of the monotonic clock into UTC; notices when the wall clock is set.

    Durations never come from here. Safe to call from any thread.

    Args:
        monotonic_ns: the clock that the times to be labelled come from.
        wall_ns: the clock that can be set, nanoseconds since 1970.
    """

    def __init__(
        self,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._monotonic_ns = monotonic_ns
        self._wall_ns = wall_ns
        self._lock = threading.Lock()
        self._looked_ns = monotonic_ns()
        self._offset_ns = wall_ns() - self._looked_ns
        self._stepped_ns: int | None = None

    def label(self, at_ns: int) -> Label:
        """Return the wall-clock time of `at_ns`, by the wall clock as it is set now."""
        with self._lock:
            now_ns = self._monotonic_ns()
            self._look(now_ns)
            recent = self._stepped_ns is not None and now_ns - self._stepped_ns < NOTE_NS
            return Label(at_ns + self._offset_ns, "step" if recent else "ok")

    def now(self) -> Label:
        """Return the wall-clock time of this moment."""
        return self.label(self._monotonic_ns())

    def _look(self, now_ns: int) -> None:
        offset_ns = self._wall_ns() - now_ns
        allowed_ns = STEP_NS + SLEW_SHARE * (now_ns - self._looked_ns)
        if abs(offset_ns - self._offset_ns) > allowed_ns:
            self._stepped_ns = now_ns
        self._looked_ns = now_ns
        self._offset_ns = offset_ns


def iso_utc(utc_ns: int) -> str:
    """Return nanoseconds since 1970 as ISO 8601 with milliseconds and Z; the nearest legal time if there is none."""
    seconds, rest_ns = divmod(int(utc_ns), 1_000_000_000)
    seconds = min(max(seconds, 0), 253_402_300_799)
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest_ns // 1_000_000:03d}Z"
