"""Log lines that cost the caller nothing: a bounded queue to one writer thread, drops counted."""

from __future__ import annotations

import logging
import logging.handlers
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Full, Queue

MAX_WAITING = 1000
"""Lines that may wait for a slow terminal or disk; more are dropped and counted."""


class DroppingHandler(logging.handlers.QueueHandler):
    """Queues a record without ever waiting; counts what found no room."""

    def __init__(self, queue: Queue[logging.LogRecord]) -> None:
        super().__init__(queue)
        self.dropped = 0

    def enqueue(self, record: logging.LogRecord) -> None:
        """Queue one record or count it as dropped."""
        try:
            self.queue.put_nowait(record)
        except Full:
            self.dropped += 1


class CleanFormatter(logging.Formatter):
    """Formats a line and cleans the whole of it, a traceback included.

    Args:
        clean: gets a line, returns what may be shown.
    """

    def __init__(self, clean: Callable[[str], str]) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
        self._clean = clean

    def format(self, record: logging.LogRecord) -> str:
        """Return the line to show."""
        return self._clean(super().format(record))


@contextmanager
def logging_to_stderr(clean: Callable[[str], str] = str, level: int = logging.INFO) -> Iterator[DroppingHandler]:
    """Write the log to stderr from a thread of its own while the block runs; what waits is written at its end."""
    queue: Queue[logging.LogRecord] = Queue(MAX_WAITING)
    writer = logging.StreamHandler()
    writer.setFormatter(CleanFormatter(clean))
    listener = logging.handlers.QueueListener(queue, writer)
    handler = DroppingHandler(queue)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
    listener.start()
    try:
        yield handler
    finally:
        root.removeHandler(handler)
        listener.stop()
