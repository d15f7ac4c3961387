"""Tells threads of low priority when they are in nobody's way."""

from __future__ import annotations

from threading import Event


class Lull:
    """A time in which no frame is looked at and the last verdict has gone out; the inspect thread says when.

    On a machine whose cores are all the engine's, a thread that computes when a frame comes keeps it waiting, however
    low its priority: it is taken off its core at the next tick of the system's clock, which may be 4 ms away. So what
    can wait and can be done in pieces of about a millisecond waits for a lull before each (docs/performance.md).
    """

    def __init__(self) -> None:
        self._is_on = Event()
        self._is_on.set()

    def begin(self) -> None:
        """Say that it has begun; it has, too, before the first frame and after the last."""
        self._is_on.set()

    def end(self) -> None:
        """Say that it has ended."""
        self._is_on.clear()

    def wait(self, most_s: float) -> bool:
        """Return when there is one; False if none came in so many seconds, as on a line that is full."""
        return self._is_on.wait(most_s)
