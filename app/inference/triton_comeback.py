"""Looks for a Triton server that was away, on a thread of its own, until it has been well for a while."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from typing_extensions import Self

from app.errors import ModelError

log = logging.getLogger(__name__)

STOP_S = 6.0
"""Longer than one look can take."""


class Provable(Protocol):
    """A connection that can be entered, proved, and left."""

    def __enter__(self) -> Self:
        """Connect and prove; `ModelError` where that fails."""
        ...

    def prove(self) -> None:
        """Run each batch and compare; `ModelError` where that fails."""
        ...

    def close(self) -> None:
        """Leave; safe to call twice."""
        ...


T = TypeVar("T", bound=Provable)


class Comeback(Generic[T]):
    """Offers a proven connection after so many good looks in a row; one bad look begins the count anew.

    Args:
        connect: makes a connection that is not entered.
        retry_s: from one look to the next.
        well_after: how many good looks it takes.
    """

    def __init__(self, connect: Callable[[], T], retry_s: float, well_after: int) -> None:
        self._connect = connect
        self._retry_s = retry_s
        self._well_after = well_after
        self._wanted = Event()
        self._stop = Event()
        self._lock = Lock()
        self._offer: T | None = None
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        """Start the thread; it looks for nothing yet."""
        self._stop.clear()
        self._wanted.clear()
        self._thread = Thread(target=self._run, name="triton")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the thread; safe to call twice."""
        self._stop.set()
        self._wanted.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(STOP_S)
        offer = self.take()
        if offer is not None:
            offer.close()

    def look(self) -> None:
        """Begin to look for the server; returns at once."""
        self._wanted.set()

    def take(self) -> T | None:
        """Return a proven connection where there is one by now; the caller owns it then. Never waits for a look."""
        if self._offer is None:
            return None
        with self._lock:
            offer, self._offer = self._offer, None
        return offer

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wanted.wait()
            found = self._found()
            if found is not None:
                self._wanted.clear()
                with self._lock:
                    self._offer = found

    def _found(self) -> T | None:
        """Look until it was well often enough; None where that must stop."""
        link: T | None = None
        well, said = 0, ""
        while not self._stop.wait(self._retry_s):
            try:
                if link is None:
                    link = self._connect()
                    link.__enter__()
                else:
                    link.prove()
                well += 1
            except ModelError as error:
                if link is not None:
                    link.close()
                if str(error) != said:  # each reason once, not each second
                    said = str(error)
                    log.info("%s", said)
                link, well = None, 0
            if link is not None and well >= self._well_after:
                return link
        if link is not None:
            link.close()
        return None
