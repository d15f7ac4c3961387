"""Puts the threads that publish by the deadline before all others, where the system allows it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from types import TracebackType

from typing_extensions import Self

logger = logging.getLogger(__name__)

URGENT = ("deadline", "outbox mqtt", "mqtt ")
"""How the names of those threads begin: the timer, the queue to the broker, the broker's connection.

Each works for a fraction of a millisecond at a time, so that none can keep the engine from its cores.
"""


class Urgent:
    """A part that is entered after those that start the threads.

    Args:
        priority: in the real-time class FIFO; None leaves the threads as they are.
        threads: lists the threads of this process, for tests.
    """

    def __init__(
        self, priority: int | None, threads: Callable[[], list[threading.Thread]] = threading.enumerate
    ) -> None:
        self._priority = priority
        self._threads = threads

    def __enter__(self) -> Self:
        """Raise them; where that is not allowed, say so once and leave them."""
        if self._priority is None:
            return self
        parameter = os.sched_param(self._priority)
        for thread in self._threads():
            if thread.native_id is None or not thread.name.startswith(URGENT):
                continue
            try:
                # The flag: what such a thread might start one day does not become urgent with it.
                os.sched_setscheduler(thread.native_id, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, parameter)
            except OSError as error:
                logger.info(
                    "deadline: not in the real-time class (%s), so it may be late while others keep every core busy; "
                    "LimitRTPRIO=%d in the unit allows it",
                    error.strerror,
                    self._priority,
                )
                return self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is held: the threads end with their owners."""
