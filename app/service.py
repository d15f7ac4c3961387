"""Starts the workers, waits for the first failure, the end of the pictures or a signal, and stops them in reverse.

Between its beats the main thread looks whether every thread of the parts is still there: one that has died is a failure
as well, because a process that lives on without it looks healthy and is not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Thread
from threading import enumerate as running_threads
from time import monotonic
from typing import Any, Protocol, TypeVar

from app.errors import TaktsightError
from app.inspector import Inspector
from app.worker import Worker

logger = logging.getLogger(__name__)

T = TypeVar("T")

STOP_S = 0.8
"""How long threads may take to stop, together; what is left of 2 s is the outbox's to deliver in."""


INSPECT = "inspect"
ASIDE = "aside"
BEAT_S = 0.5
"""How often it looks whether all is well."""


class ThreadDied(TaktsightError):  # noqa: N818 - named after the event
    """A thread that has to be there for the service to do its work has ended."""


class Feeding(Protocol):
    """One camera's source and hand-off."""

    def run(self, stop: Event) -> None:
        """Read pictures until `stop` is set or the source has given its last one."""
        ...

    def finish(self) -> None:
        """Say that no frame will follow; wakes whoever waits."""
        ...


@dataclass(frozen=True, slots=True)
class Ended:
    """A worker's last word."""

    worker: Worker
    error: BaseException | None


class Service:
    """The running product.

    Args:
        parts: what must be there before the first frame and after the last (outbox, evidence), entered in order.
        inspector: the body of the inspect thread.
        feeds: by camera.
    """

    def __init__(
        self, parts: Sequence[AbstractContextManager[Any]], inspector: Inspector, feeds: Mapping[str, Feeding]
    ) -> None:
        self._parts = parts
        self._inspector = inspector
        self._feeds = dict(feeds)
        self._news: SimpleQueue[Ended | Callable[[], None] | None] = SimpleQueue()
        self._workers: list[Worker] = []
        self._threads: list[Thread] = []
        self._on_beat: Callable[[], None] = lambda: None
        self._beat_s = BEAT_S
        self.is_hurried = False
        """Somebody has asked it to stop, and waits; else it ends with its last picture and may finish what it does."""
        self.stuck: list[str] = []
        """Threads that did not stop in time; the process has to end without them."""

    @property
    def turns(self) -> int:
        """How often the inspection has looked for a frame; it stands still only while an engine hangs."""
        return self._inspector.turns

    def look_after(self, thread: Thread) -> None:
        """End the service, too, when this thread dies: one that is no part's, and without which it is not whole."""
        self._threads.append(thread)

    def stop(self) -> None:
        """Ask the service to stop; safe in a signal handler, from any thread, and twice."""
        self.is_hurried = True
        self._news.put(None)

    def run(
        self,
        on_ready: Callable[[], None] = lambda: None,
        on_beat: Callable[[], None] = lambda: None,
        beat_s: float = BEAT_S,
    ) -> None:
        """Run until every camera has given its last picture, `stop` is called, or a worker fails.

        Args:
            on_ready: called once the engines are warm and the cameras are being opened.
            on_beat: called on this thread every `beat_s` seconds from then on.
            beat_s: also how soon a thread that has died is noticed.

        Raises:
            ThreadDied: a part's thread has ended.
            Exception: what a worker did not foresee, or a `TaktsightError` that keeps the service from starting.
        """
        with ExitStack() as stack:
            before = set(running_threads())
            for part in self._parts:
                stack.enter_context(part)
            self._threads += [thread for thread in running_threads() if thread not in before]
            stack.callback(self._stop)
            self._start(INSPECT, self._inspector.run)
            if not self._wait_ready():
                return
            for camera, feed in self._feeds.items():
                self._start(_capture(camera), feed.run)
            on_ready()
            self._wait_end(on_beat, beat_s)

    def ask(self, change: Callable[[], None]) -> None:
        """Have something done on the thread that runs the service; safe in a signal handler and from any thread."""
        self._news.put(change)

    # What follows is called on the thread that runs the service, by way of `ask`.

    def aside(self, do: Callable[[], T]) -> T:
        """Have something that takes long done on a thread of its own, and wait for it; the beats go on meanwhile.

        Raises:
            TaktsightError: the service is asked to stop meanwhile.
            Exception: what `do` raises.
        """
        done: Future[T] = Future()
        Thread(target=partial(_settle, done, do), name=ASIDE).start()
        while not self.is_hurried:
            try:
                return done.result(self._beat_s)
            except FutureTimeout:
                if done.done():
                    return done.result()
                self._beat()
        self.stuck.append(ASIDE)  # nobody can end it, or wait for it
        raise TaktsightError("the service stops")

    def open(self, camera: str, feed: Feeding) -> None:
        """Start one camera more."""
        self._feeds[camera] = feed
        self._start(_capture(camera), feed.run)

    def close(self, camera: str) -> None:
        """Stop one camera's thread, and say that it gives no more frames; those that wait are still inspected."""
        feed, name = self._feeds.pop(camera), _capture(camera)
        (worker,) = [worker for worker in self._workers if worker.name == name]
        self._workers.remove(worker)
        worker.ask_to_stop()
        if not worker.join(STOP_S):
            self.stuck.append(name)
            logger.warning("%s is left behind: blocked in a driver", name)
        feed.finish()  # after the join: a picture that it has read already still has its place

    def _start(self, name: str, body: Callable[[Event], None]) -> None:
        worker = Worker(name, body, lambda error: self._news.put(Ended(worker, error)))
        self._workers.append(worker)
        worker.start()

    def _wait_ready(self) -> bool:
        """Wait for the engines; False where a signal came first. Changes wait until there is something to change."""
        later: list[Callable[[], None]] = []
        while not self._inspector.ready.wait(0.02):
            if self._news.empty():
                continue
            news = self._news.get()
            if news is None or isinstance(news, Ended):
                return self._heed(news) and self._inspector.ready.is_set()
            later.append(news)
        for change in later:
            self._news.put(change)
        return True

    def _wait_end(self, on_beat: Callable[[], None], beat_s: float) -> None:
        self._on_beat, self._beat_s = on_beat, beat_s
        goes_on = True
        while goes_on:
            try:
                goes_on = self._heed(self._news.get(timeout=beat_s))
            except Empty:
                self._beat()

    def _beat(self) -> None:
        self._look_at_threads()
        self._on_beat()

    def _look_at_threads(self) -> None:
        dead = [thread.name for thread in self._threads if not thread.is_alive()]
        if dead:
            raise ThreadDied(
                f"the thread {' and '.join(dead)} has ended, which it must not; the log says why. The service ends, so "
                "that it can be started again whole"
            )

    def _heed(self, news: Ended | Callable[[], None] | None) -> bool:
        """Return whether to go on; raise what ended a worker."""
        if news is None:
            return False
        if not isinstance(news, Ended):
            news()
            return True
        if news.error is not None and news.worker in self._workers:  # not one that was left behind
            raise self._failure(news.worker.name, news.error)
        return news.worker.name != INSPECT

    def _failure(self, name: str, error: BaseException) -> Exception:
        """Return what to raise for an error that ended a worker."""
        logger.error("%s ended: %s", name, error)
        if isinstance(error, Exception):
            return error
        # SystemExit would end the service as if all were well.
        died = ThreadDied(f"the thread {name} has ended by {type(error).__name__}, which it must not")
        died.__cause__ = error
        return died

    def _stop(self) -> None:
        for worker in self._workers:
            worker.ask_to_stop()
        for feed in self._feeds.values():
            feed.finish()
        deadline = monotonic() + STOP_S
        for worker in reversed(self._workers):
            if not worker.join(max(0.0, deadline - monotonic())):
                self.stuck.append(worker.name)


def _settle(done: Future[T], do: Callable[[], T]) -> None:
    try:
        done.set_result(do())
    except BaseException as error:  # the root of a thread: whoever waits gets it
        done.set_exception(error)


def _capture(camera: str) -> str:
    """Return the name of a camera's thread."""
    return f"capture-{camera}"
