"""The owner of one camera's source: it reads, guards, numbers and hands over, and opens a lost source again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from random import SystemRandom
from threading import Event
from time import monotonic_ns

from app.capture.backoff import pause_s
from app.capture.base import Source
from app.capture.guard import Guard
from app.capture.rate import Rate
from app.capture.state import CameraState
from app.config.sections import Reopen
from app.errors import EndOfStream, SourceLost
from app.frame import Frame, Picture

READ_TIMEOUT_S = 0.2
"""How long a read waits, and so how soon a stop is seen while no picture comes."""

log = logging.getLogger(__name__)

_CHANCE = SystemRandom().random


class Feed:
    """The body of one camera's thread.

    Args:
        camera: its name.
        source: where its pictures come from; entered and left here only.
        guard: turns bad pictures into faults.
        reopen: the pauses before a lost source is opened again.
        put: takes each frame; may block where nothing may be lost, and must return when the service stops.
        on_state: told of each change of state, with one line for a person; called in this thread.
        chance: uniform random numbers in 0 … 1 for the jitter.

    Attributes:
        captured: frames handed over, counted before the hand-over.
        reconnects: how often the source was opened again after it was lost.
        state: where the camera stands.
    """

    def __init__(
        self,
        camera: str,
        source: Source,
        *,
        guard: Guard,
        reopen: Reopen,
        put: Callable[[Frame], object],
        on_state: Callable[[CameraState, str], object],
        chance: Callable[[], float] = _CHANCE,
    ) -> None:
        self.camera = camera
        self.captured = 0
        self.reconnects = 0
        self.state: CameraState | None = None
        self._source = source
        self._guard = guard
        self._reopen = reopen
        self._put = put
        self._on_state = on_state
        self._chance = chance
        self._rate = Rate()
        self._failures = 0

    @property
    def fps(self) -> float | None:
        """Measured pictures a second; None while that is unknown."""
        return self._rate.per_second

    def run(self, stop: Event) -> None:
        """Feed frames until the source ends or `stop` is set.

        Raises:
            SourceError: the source says that it can never give pictures.
        """
        while not stop.is_set():
            try:
                self._run_once(stop)
            except EndOfStream as end:
                self._say(CameraState.ENDED, str(end))
                return
            except SourceLost as loss:
                self._failures += 1
                self._say(CameraState.LOST, str(loss))
                stop.wait(pause_s(self._reopen, self._failures, self._chance()))
                self.reconnects += not stop.is_set()

    def _run_once(self, stop: Event) -> None:
        """Open the source and read it until it ends, is lost or `stop` is set."""
        self._say(CameraState.CONNECTING, "the source is being opened")
        self._guard.reset()
        self._rate.clear()
        with self._source as source:
            while not stop.is_set():
                picture = source.read(READ_TIMEOUT_S)
                if picture is not None:
                    self._hand_over(picture)

    def _hand_over(self, picture: Picture) -> None:
        """Guard, number and put one picture; the first one since it was opened shows that the source works."""
        self._failures = 0
        self._rate.add(picture.arrived_ns)
        if self.state is not CameraState.ONLINE:
            self._say(CameraState.ONLINE, "pictures of {}x{} arrive".format(*picture.size_wh))
        fault = self._guard.check(picture)
        if fault is not picture.fault:
            picture = replace(picture, fault=fault)
        self.captured += 1
        self._put(Frame(self.camera, self.captured, picture, monotonic_ns()))
        if self._guard.hangs:
            raise SourceLost("the camera gives the same picture again and again; it is opened anew")

    def _say(self, state: CameraState, text: str) -> None:
        """Report a change of state once, by callback and in the log."""
        if state is self.state:
            return
        self.state = state
        log.log(
            logging.WARNING if state is CameraState.LOST else logging.INFO, "%s: %s: %s", self.camera, state.value, text
        )
        self._on_state(state, text)
