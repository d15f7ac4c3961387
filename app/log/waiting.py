"""The lines that wait for the writer: bounded, never waited for, and what matters has room the longest."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock

from app.log.line import Line

DETAIL_SHARE, INFO_SHARE = 0.5, 0.75
"""How full it may be for details and for what is only good to know; warnings and kept lines may fill it."""


class Waiting:
    """Takes lines from any thread without a lock of Python's, behind which a frame could have to wait for the writer.

    The bound may be passed by one line for each thread that puts one at the same moment.

    Args:
        length: lines that may wait.

    Attributes:
        size, append, drop: for the path of a frame, where each call into Python costs a microsecond, and each object
            made for nothing as well: ask for the size, compare it with `length` or `detail_length`, and either append
            what makes the line, which the writer will call, or drop it.
    """

    def __init__(self, length: int) -> None:
        self._queue: SimpleQueue[Line | Callable[[], Line]] = SimpleQueue()
        drops = itertools.count()  # `next` on it can't be interrupted; `+= 1` can
        self.size, self.append = self._queue.qsize, self._queue.put
        self.drop: Callable[[], int] = partial(next, drops)
        self.length, self.detail_length = length, int(length * DETAIL_SHARE)
        self._info_length = int(length * INFO_SHARE)
        self._looks = 0
        self._looking = Lock()  # of those who ask how many; nobody who logs takes it

    def put(self, line: Line) -> bool:
        """Take a line, or count it as dropped; return whether it was taken."""
        if self.size() >= self._room(line.level):
            self.drop()
            return False
        self.append(line)
        return True

    def load(self) -> float:
        """How full it is, 0 … 1."""
        return self.size() / self.length

    def take(self, at_most: int) -> Iterator[Line]:
        """Yield what waits, oldest first."""
        try:
            for _ in range(at_most):
                item = self._queue.get_nowait()
                yield item if isinstance(item, Line) else item()
        except Empty:
            return

    def dropped(self) -> int:
        """Return how many lines found no room so far."""
        with self._looking:
            count = self.drop() - self._looks
            self._looks += 1
            return count

    def _room(self, level: int) -> int:
        if level >= logging.WARNING:
            return self.length
        return self._info_length if level >= logging.INFO else self.detail_length
