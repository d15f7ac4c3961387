"""When Python's garbage is collected: between frames, while none waits."""

from __future__ import annotations

import gc
from time import monotonic_ns

YOUNG = 700
"""New objects that are worth a look at the young ones, as in Python's own default."""

OVERDUE = 2
"""How many times the usual span may pass without an idle moment before a frame has to wait for the collection."""


class Garbage:
    """Takes the collector from Python and calls it when it harms nobody. One thread calls all methods.

    Left to itself, Python collects in whatever thread happens to make an object, in the middle of a frame, and a whole
    collection looks at everything that was ever imported: many milliseconds.

    Args:
        every_s: seconds between two whole collections.
    """

    def __init__(self, every_s: float) -> None:
        self._every_ns = round(every_s * 1e9)
        self._last_ns = monotonic_ns()

    def begin(self) -> None:
        """Put away for good all that there is now, and collect no more but when told to."""
        gc.collect()
        gc.freeze()
        gc.disable()
        self._last_ns = monotonic_ns()

    def between(self, *, idle: bool) -> None:
        """Collect if it is time to; called between two frames.

        Args:
            idle: no frame waits.
        """
        since_ns = monotonic_ns() - self._last_ns
        if since_ns >= (self._every_ns if idle else OVERDUE * self._every_ns):
            gc.collect()
            self._last_ns = monotonic_ns()
        elif idle and gc.get_count()[0] >= YOUNG:
            gc.collect(0)

    def end(self) -> None:
        """Give the collector back to Python."""
        gc.unfreeze()
        gc.enable()
