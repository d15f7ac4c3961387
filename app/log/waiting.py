"""The lines that wait for the writer: bounded, never waited for, and what matters has room the longest."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator
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
    """

    def __init__(self, length: int) -> None:
        self._queue: SimpleQueue[Line | Callable[[], Line]] = SimpleQueue()
        self._size, self._append = self._queue.qsize, self._queue.put
        self._length = length
        self._detail_length, self._info_length = int(length * DETAIL_SHARE), int(length * INFO_SHARE)
        self._drops = itertools.count()  # `next` on it can't be interrupted; `+= 1` can
        self._looks = 0
        self._looking = Lock()  # of those who ask how many; nobody who logs takes it

    def put(self, line: Line) -> bool:
        """Take a line, or count it as dropped; return whether it was taken."""
        return self._put_below(self._room(line.level), line)

    def put_late(self, make: Callable[[], Line], *, matters: bool) -> bool:
        """Take what makes a line, which the writer will call; it may fill the queue where it `matters`."""
        return self._put_below(self._length if matters else self._detail_length, make)

    def _put_below(self, room: int, item: Line | Callable[[], Line]) -> bool:
        if self._size() >= room:
            next(self._drops)
            return False
        self._append(item)
        return True

    def load(self) -> float:
        """How full it is, 0 … 1."""
        return self._queue.qsize() / self._length

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
            count = next(self._drops) - self._looks
            self._looks += 1
            return count

    def _room(self, level: int) -> int:
        if level >= logging.WARNING:
            return self._length
        return self._info_length if level >= logging.INFO else self._detail_length
