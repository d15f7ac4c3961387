"""A thread that does a few jobs, each in its own rhythm."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event, Thread
from types import TracebackType

from typing_extensions import Self

logger = logging.getLogger(__name__)

STOP_S = 1.0


@dataclass(frozen=True, slots=True)
class Job:
    """Something that is done again and again.

    Attributes:
        name: for the log.
        every_s: seconds from one begin to the next; the first comes after that time, too.
        do: must not wait for long: the other jobs wait for it.
    """

    name: str
    every_s: float
    do: Callable[[], None]


class Schedule:
    """Which jobs are due; knows no clock.

    Args:
        jobs: in the order in which they are done when several are due.
        now_ns: when the first period begins.
    """

    def __init__(self, jobs: Sequence[Job], now_ns: int) -> None:
        self._due_ns = [(job, now_ns + _ns(job.every_s)) for job in jobs]

    def take_due(self, now_ns: int) -> list[Job]:
        """Return the jobs whose time has come, and put each off to its next time; times that were missed are gone."""
        due = [job for job, due_ns in self._due_ns if due_ns <= now_ns]
        self._due_ns = [
            (
                job,
                due_ns if due_ns > now_ns else due_ns + ((now_ns - due_ns) // _ns(job.every_s) + 1) * _ns(job.every_s),
            )
            for job, due_ns in self._due_ns
        ]
        return due

    def wait_s(self, now_ns: int) -> float:
        """Return how long nothing is due."""
        return max(0.0, (min(due_ns for _, due_ns in self._due_ns) - now_ns) / 1e9)


class Rounds:
    """Does the jobs while it is entered.

    Args:
        name: the thread's.
        jobs: one at least.
        give_way: called before each job; may wait for a good moment, not for long.
    """

    def __init__(self, name: str, jobs: Sequence[Job], give_way: Callable[[], object] = lambda: None) -> None:
        self._jobs = jobs
        self._give_way = give_way
        self._stop = Event()
        self._thread = Thread(target=self._run, name=name, daemon=False)

    def __enter__(self) -> Self:
        """Start the thread."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop it and wait."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(STOP_S)
        if self._thread.is_alive():
            logger.error("%s: does not come back from a job; left behind", self._thread.name)

    def _run(self) -> None:
        schedule = Schedule(self._jobs, time.monotonic_ns())
        while not self._stop.wait(schedule.wait_s(time.monotonic_ns())):
            for job in schedule.take_due(time.monotonic_ns()):
                self._give_way()
                _do(job)


def _do(job: Job) -> None:
    try:
        job.do()
    except Exception:  # the thread's root: figures that can't be had must end neither the others nor the inspection
        logger.exception("%s could not be done; it is tried again in %.0f s", job.name, job.every_s)


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
