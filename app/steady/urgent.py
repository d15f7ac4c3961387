"""Puts the threads that publish by the deadline before all others, while a verdict is about to be late."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from time import monotonic_ns
from types import TracebackType

from typing_extensions import Self

logger = logging.getLogger(__name__)

TIMER = "deadline"
"""The thread that says when: it sleeps nearly always, and is never to wait for a core when it wakes."""
WAY = ("outbox mqtt", "mqtt ")
"""How the names of the threads begin that bring a message out: the queue to the broker, the broker's connection.

With every picture they work for a millisecond. If they always came first, the engine would have to make room each time,
and on two cores a line that is full would judge a tenth less (docs/performance.md).
"""
CALM_NS = 200_000_000
"""Without anything urgent, after which they are like all others again."""


class Urgent:
    """A part that is entered after those that start the threads; `hurry` may be called by any thread.

    Args:
        priority: in the real-time class FIFO; None leaves the threads as they are.
        threads: lists the threads of this process, for tests.
        now_ns: the clock, for tests.
    """

    def __init__(
        self,
        priority: int | None,
        threads: Callable[[], list[threading.Thread]] = threading.enumerate,
        now_ns: Callable[[], int] = monotonic_ns,
    ) -> None:
        self._priority = priority
        self._threads = threads
        self._now_ns = now_ns
        self._lock = threading.Lock()
        self._way: list[int] = []
        self._is_raised = False
        self._since_ns = 0

    def __enter__(self) -> Self:
        """Raise the timer; where that is not allowed, say so once and leave all threads as they are."""
        if self._priority is None:
            return self
        if self._set(self._named(TIMER), os.SCHED_FIFO, self._priority):
            self._way = self._named(*WAY)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is held: the threads end with their owners, which `hurry` then no longer touches."""
        with self._lock:
            self._way = []

    @property
    def is_hurrying(self) -> bool:
        """Whether the threads are as urgent as they can be: raised now, or never to be."""
        return self._is_raised or not self._way

    def hurry(self) -> None:
        """Have what is published now come before all else."""
        with self._lock:
            self._since_ns = self._now_ns()
            if self._way and not self._is_raised and self._priority is not None:
                self._is_raised = self._set(self._way, os.SCHED_FIFO, self._priority)

    def calm(self) -> None:
        """Put the threads back where nothing has been urgent for a while."""
        with self._lock:
            if self._is_raised and self._now_ns() - self._since_ns > CALM_NS:
                self._is_raised = not self._set(self._way, os.SCHED_OTHER, 0)

    def _named(self, *beginnings: str) -> list[int]:
        threads = [thread for thread in self._threads() if thread.name.startswith(beginnings)]
        return [thread.native_id for thread in threads if thread.native_id is not None]

    def _set(self, threads: list[int], policy: int, priority: int) -> bool:
        """Give threads their class; return whether that is allowed."""
        for thread in threads:
            try:
                # The flag: what such a thread might start one day does not become urgent with it.
                os.sched_setscheduler(thread, policy | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
            except OSError as error:
                logger.info(
                    "deadline: not in the real-time class (%s), so it may be late while others keep every core busy; "
                    "LimitRTPRIO=%d in the unit allows it",
                    error.strerror,
                    self._priority,
                )
                return False
        return True
