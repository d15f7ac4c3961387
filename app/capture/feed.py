"""The owner of one camera's source: it guards, numbers and hands over, and opens a lost source again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from random import SystemRandom
from threading import Event, Lock
from time import monotonic, monotonic_ns

from app.capture.backoff import pause_s
from app.capture.base import Source
from app.capture.blocked import Blocked
from app.capture.guard import Guard
from app.capture.rate import Rate
from app.capture.reader import Reader
from app.capture.state import CameraState
from app.config.sections import Reopen
from app.errors import EndOfStream, SourceLost, TaktsightError
from app.frame import Frame, Picture

BEAT_S = 0.1
"""How often it looks whether pictures come, and whether the reader is blocked."""

HANGING = (CameraState.FROZEN, CameraState.STALE)
"""What a camera is that gives old pictures."""

log = logging.getLogger(__name__)

_CHANCE = SystemRandom().random


class Feed:
    """The body of one camera's thread, which watches over another one that reads.

    Args:
        camera: its name.
        make: gives a source of its pictures; called again only where the one before is still held by a blocked thread.
        guard: turns bad pictures into faults.
        reopen: the pauses before a lost source is opened again, and how long a blocked one is waited for.
        put: takes each frame, on the reading thread; may block where nothing may be lost, and must return when the
            service stops.
        on_state: told of each change of state, with one line for a person; called in either thread, one at a time.
        chance: uniform random numbers in 0 … 1 for the jitter.
        timeouts_s: how long opening or one read may take by the source's own time-outs.

    Attributes:
        captured: frames handed over, counted before the hand-over.
        reconnects: how often the source was opened again after it was lost.
        state: where the camera stands.
    """

    def __init__(
        self,
        camera: str,
        make: Callable[[], Source],
        *,
        guard: Guard,
        reopen: Reopen,
        put: Callable[[Frame], object],
        on_state: Callable[[CameraState, str], object],
        chance: Callable[[], float] = _CHANCE,
        timeouts_s: float = 0.0,
    ) -> None:
        self.camera = camera
        self.captured = 0
        self.reconnects = 0
        self.state: CameraState | None = None
        self._make = make
        self._guard = guard
        self._reopen = reopen
        self._put = put
        self._on_state = on_state
        self._chance = chance
        self._limit_s = reopen.stuck_s + timeouts_s
        self._rate = Rate()
        self._failures = 0
        self._why = ""
        self._foreseen: set[type[Exception]] = set()
        self._saying = Lock()
        self._came_s = 0.0
        self._stuck: list[Reader] = []

    @property
    def fps(self) -> float | None:
        """Measured pictures a second; None while that is unknown."""
        return self._rate.per_second

    @property
    def stuck(self) -> int:
        """Threads that were given up and are still blocked in their driver."""
        return sum(not reader.join(0) for reader in self._stuck)

    def run(self, stop: Event) -> None:
        """Feed frames until the source ends or `stop` is set.

        Raises:
            TaktsightError: the source says that it can never give pictures.
            Exception: what `put` did not foresee.
        """
        self._say(CameraState.CONNECTING, "the source is being opened")
        try:
            self._run(stop)
        finally:
            for reader in self._stuck:
                reader.join()

    def _run(self, stop: Event) -> None:
        source = self._make()
        while not stop.is_set():
            reader = self._open(source, stop)
            if self._watch(reader, stop):
                if self._has_ended(reader):
                    return
            else:
                source = self._make()  # the one before is not ours again until its driver lets it go
            if stop.is_set():
                return
            stop.wait(pause_s(self._reopen, self._failures, self._chance()))
            self._await_room(stop)
            self.reconnects += not stop.is_set()

    def _open(self, source: Source, stop: Event) -> Reader:
        """Begin to read in a new thread."""
        self._guard.reset()
        self._rate.clear()
        reader = Reader(f"read-{self.camera}", source, self._hand_over, stop)
        reader.start()
        return reader

    def _watch(self, reader: Reader, stop: Event) -> bool:
        """Wait until it has ended, and tell while no picture comes; False where it was given up."""
        blocked, self._came_s, was_open = Blocked(), monotonic(), False
        while not reader.join(BEAT_S):
            moves = reader.moves
            blocked_s = blocked.look(moves)
            if reader.opened and not was_open:
                self._came_s, was_open = monotonic(), True
            if not stop.is_set() and blocked_s >= self._limit_s and reader.give_up(moves):
                self._stuck.append(reader)
                self._lost(
                    f"{reader.phase.value} has been blocked for {blocked_s:.0f} s; {self.stuck} of at most "
                    f"{self._reopen.stuck_threads} threads hang in the driver; isolate: true helps"
                )
                return False
            if was_open:
                self._look_for_stale()
        return True

    def _has_ended(self, reader: Reader) -> bool:
        """Take a reader's end; return whether it was the last one."""
        match reader.error:
            case None:
                return False
            case EndOfStream() as end:
                self._say(CameraState.ENDED, str(end))
                return True
            case SourceLost() as loss:
                self._lost(str(loss))
            case error if reader.is_ours or isinstance(error, TaktsightError):
                raise error
            case error:
                self._failed(error)
        return False

    def _failed(self, error: Exception) -> None:
        """Take what nobody foresaw for a loss of this camera; other cameras have nothing to do with it."""
        text = f"the source failed in a way nobody foresaw: {type(error).__name__}: {error}"
        if type(error) not in self._foreseen:
            self._foreseen.add(type(error))
            log.error("%s: %s", self.camera, text, exc_info=error)
        self._lost(text)

    def _await_room(self, stop: Event) -> None:
        """Wait while as many threads are blocked as may be."""
        while not stop.is_set() and self.stuck >= self._reopen.stuck_threads:
            self._stuck[0].join(BEAT_S)
        self._stuck = [reader for reader in self._stuck if not reader.join(0)]

    def _look_for_stale(self) -> None:
        """Say so where no picture has come for long."""
        patience_s, since_s = self._guard.patience_s(self.fps), monotonic() - self._came_s
        if patience_s is None or since_s < patience_s:
            return
        self._guard.standing.reset()
        self._say(CameraState.STALE, f"no picture for {since_s:.1f} s")

    def _hand_over(self, picture: Picture) -> None:
        """Guard, number and put one picture; on the reading thread."""
        self._came_s = monotonic()
        self._rate.add(picture.arrived_ns)
        fault = self._guard.check(picture)
        if fault is not picture.fault:
            picture = replace(picture, fault=fault)
        self._stand(picture)
        self.captured += 1
        self._put(Frame(self.camera, self.captured, picture, monotonic_ns()))
        self._came_s = monotonic()  # while the hand-over waits, no picture can come
        if self._guard.hangs:
            raise SourceLost("the camera gives old pictures again and again; it is opened anew")

    def _stand(self, picture: Picture) -> None:
        """Say where the camera stands after a picture; a good one shows that the source works."""
        if picture.fault is None:
            self._failures = 0
        assert self.state is not None, "said when the feed began"
        state = self._guard.standing.see(self.state, picture.fault)
        text = "pictures of {}x{} arrive".format(*picture.size_wh) if picture.fault is None else picture.fault.text
        self._say(state, text)

    def _lost(self, text: str) -> None:
        """Count a failure and say so; one whose pictures are known to hang stays so while it is opened anew."""
        self._failures += 1
        if text != self._why:
            log.warning("%s: lost: %s", self.camera, text)
        self._why = text
        if not (self.state in HANGING and self._guard.hangs):
            self._say(CameraState.LOST, text)

    def _say(self, state: CameraState, text: str) -> None:
        """Report a change of state once, by callback and in the log."""
        with self._saying:
            if state is self.state:
                return
            self.state = state
            if state is not CameraState.LOST:  # which says why itself
                level = logging.WARNING if state.is_stall else logging.INFO
                log.log(level, "%s: %s: %s", self.camera, state.value, text)
                self._why = ""
            self._on_state(state, text)
