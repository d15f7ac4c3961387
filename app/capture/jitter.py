"""How unevenly a link delivers pictures, and for how long it pays to let them wait for one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

GAIN = 1 / 16
"""Of the running mean of the jitter, as in RFC 3550."""

PERIOD_GAIN = 1 / 64
WARM_UP = 32
"""Intervals before the jitter is believed."""

ON_SHARE, OFF_SHARE = 1 / 4, 1 / 8
"""Of a period: the jitter above which pictures come in bursts, and below which the link is even again."""

WAIT_FACTOR = 2
"""The last picture of a burst waits for the others; most bursts are within twice the mean deviation."""

GAP_NS = 1_000_000_000
"""A longer pause is no jitter: the camera was away, or is triggered."""

REST_NS = 10_000_000_000
"""How long the buffer stays off after it was full: then inspection is slower than the camera, and waiting only ages."""


class Jitter:
    """The running mean of how far the intervals between arrivals are from the usual one."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all; the source was opened anew."""
        self._last_ns: int | None = None
        self._intervals = 0
        self._period_ns = self._jitter_ns = 0.0

    def add(self, arrived_ns: int) -> None:
        """Take one arrival."""
        last_ns, self._last_ns = self._last_ns, arrived_ns
        if last_ns is None:
            return
        interval_ns = arrived_ns - last_ns
        if interval_ns > GAP_NS:
            self.clear()
            self._last_ns = arrived_ns
            return
        self._intervals += 1
        # A plain mean at first, so that the first burst does not count for more than the others.
        self._period_ns += (interval_ns - self._period_ns) * max(PERIOD_GAIN, 1 / self._intervals)
        self._jitter_ns += (abs(interval_ns - self._period_ns) - self._jitter_ns) * max(GAIN, 1 / self._intervals)

    @property
    def period_ns(self) -> float:
        """The usual interval."""
        return self._period_ns

    @property
    def jitter_ns(self) -> float | None:
        """The mean deviation from it; None while too few pictures came."""
        return self._jitter_ns if self._intervals >= WARM_UP else None


class JitterBuffer:
    """Decides how long a picture may wait although a newer one is there: not at all on an even link.

    On a link that delivers in bursts, newest-wins throws most pictures of a burst away, and with them parts of a moving
    line. A picture is never held back to make it wait, so nothing gets older on a link where each finds the inspection
    idle. One thread calls all methods but `wait_ns`.

    Args:
        mode: "auto", "off", or milliseconds that are always allowed.
        limit_ns: the most that a picture may wait.
        on_change: told of the jitter and of the wait in milliseconds when waiting begins and when it ends.
    """

    def __init__(
        self, mode: Literal["auto", "off"] | float, limit_ns: int, on_change: Callable[[float, float], object]
    ) -> None:
        self._jitter = Jitter()
        self._auto = mode == "auto"
        self._limit_ns = limit_ns
        self._on_change = on_change
        self._rests_until_ns = 0
        self._wait_ns = min(limit_ns, round(mode * 1e6)) if isinstance(mode, int | float) else 0

    def wait_ns(self) -> int:
        """Return how long a picture may wait now."""
        return self._wait_ns

    def add(self, arrived_ns: int) -> None:
        """Take one arrival, before its picture is handed over."""
        if not self._auto:
            return
        self._jitter.add(arrived_ns)
        self._set(self._wanted_ns(arrived_ns))

    def full(self, now_ns: int) -> None:
        """Say that a picture was dropped although it might have waited: it does not help, so it rests for a while."""
        if self._auto and self._wait_ns:
            self._rests_until_ns = now_ns + REST_NS
            self._set(0)

    def _wanted_ns(self, now_ns: int) -> int:
        jitter_ns = self._jitter.jitter_ns
        share = OFF_SHARE if self._wait_ns else ON_SHARE
        if jitter_ns is None or jitter_ns < share * self._jitter.period_ns or now_ns < self._rests_until_ns:
            return 0
        return min(self._limit_ns, round(WAIT_FACTOR * jitter_ns))

    def _set(self, wait_ns: int) -> None:
        changed = bool(wait_ns) != bool(self._wait_ns)
        self._wait_ns = wait_ns
        if changed:
            self._on_change((self._jitter.jitter_ns or 0.0) / 1e6, wait_ns / 1e6)
