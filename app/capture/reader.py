"""One opening of a source in a thread of its own, which can be given up while a driver blocks it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from threading import Event, Lock, Thread

from app.capture.base import Source
from app.frame import Picture

READ_TIMEOUT_S = 0.2
"""How long a read waits, and so how soon a stop is seen while no picture comes."""


class Phase(Enum):
    """What a reader is at."""

    OPENING = "opening the source"
    READING = "reading"
    HANDING = "handing over"
    CLOSING = "closing the source"


class Reader:
    """Opens a source, reads it and closes it, all in its own thread, so that nothing is closed while it is read.

    One that was given up takes no more pictures: once its driver lets it go it closes the source and ends.

    Args:
        name: of the thread.
        source: entered and left here only.
        take: takes each picture, on this thread; raises `SourceLost` to have the source closed.
        stop: ends it after the read that is under way.

    Attributes:
        error: what ended it; None where `stop` did.
        is_ours: the error came from `take` and not from the source.
        given_up: nobody waits for it any longer.
        opened: the source was entered.
        moves: how often it has gone on; it stands still only while it is blocked.
    """

    def __init__(self, name: str, source: Source, take: Callable[[Picture], None], stop: Event) -> None:
        self.error: Exception | None = None
        self.is_ours = False
        self.given_up = False
        self.opened = False
        self.moves = 0
        self._phase = Phase.OPENING
        self._source = source
        self._take = take
        self._stop = stop
        self._lock = Lock()
        self._thread = Thread(target=self._run, name=name, daemon=False)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait for the thread to end; return whether it has."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def phase(self) -> Phase:
        """What it is at."""
        return self._phase

    def give_up(self, moves: int) -> bool:
        """Wait for it no longer; False where it has gone on since `moves`, or is blocked by us and not by a driver."""
        with self._lock:
            self.given_up = self.moves == moves and self._phase is not Phase.HANDING
            return self.given_up

    def _run(self) -> None:
        try:
            with self._source as source:
                self.opened = True
                self._read(source)
        except Exception as error:  # the thread's root: the feed decides
            self.error = error

    def _read(self, source: Source) -> None:
        try:
            while self._go_on(Phase.READING) and not self._stop.is_set():
                picture = source.read(READ_TIMEOUT_S)
                if picture is not None and self._go_on(Phase.HANDING):
                    self._hand(picture)
        finally:
            self._go_on(Phase.CLOSING)

    def _hand(self, picture: Picture) -> None:
        self.is_ours = True
        self._take(picture)
        self.is_ours = False

    def _go_on(self, phase: Phase) -> bool:
        """Begin the next phase; False where nobody waits any longer."""
        with self._lock:
            if self.given_up:
                return False
            self._phase, self.moves = phase, self.moves + 1
            return True
