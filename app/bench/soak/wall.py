"""A wall clock that can be set, in the place of this process's; imports nothing that could keep the real one."""

from __future__ import annotations

import time
from collections.abc import Callable


class WallClock:
    """Python's wall clock, set by somebody else; the monotonic one goes on as it does.

    The machine's own clock belongs to everybody on it, so this one stands in its place in this process: for whatever
    asks `time.time` or `time.time_ns` after `take_over`.
    """

    def __init__(self) -> None:
        self._offset_ns = 0

    def take_over(self) -> Callable[[], None]:
        """Stand in its place; return what undoes that."""
        real, real_ns = time.time, time.time_ns
        time.time = lambda: real() + self._offset_ns / 1e9
        time.time_ns = lambda: real_ns() + self._offset_ns

        def undo() -> None:
            time.time, time.time_ns = real, real_ns

        return undo

    def step(self, seconds: float) -> None:
        """Set it forth, or back."""
        self._offset_ns += round(seconds * 1e9)
