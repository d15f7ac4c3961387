"""Tells systemd that the service is ready, alive and well, and only as long as that is true."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from app.health.board import Board, status_line
from app.notify import Notifier
from app.service import BEAT_S

STATUS_S = 2.0
"""How often the line of status is written anew."""


class Heartbeat:
    """One beat after the other, on the service's main thread.

    Ready is a service whose cameras have each given a picture that could be judged, or are legitimately absent: the
    line of status names those. A sign of life needs work done: `turns` goes on while no picture comes, but not while
    an engine hangs, however lively the other threads are.

    Args:
        notifier: speaks to systemd.
        board: knows the cameras.
        turns: how often the inspection has gone round.
        clock: seconds, monotonic.
    """

    def __init__(
        self, notifier: Notifier, board: Board, turns: Callable[[], int], clock: Callable[[], float] = monotonic
    ) -> None:
        self._notifier = notifier
        self._board = board
        self._turns = turns
        self._clock = clock
        self._is_ready = False
        self._last_turns = -1
        self._said_s = float("-inf")

    @property
    def every_s(self) -> float:
        """Seconds between two beats: a third of what systemd allows between two signs of life, or less."""
        limit_s = self._notifier.watchdog_s
        return BEAT_S if limit_s is None else min(BEAT_S, limit_s / 3)

    def beat(self) -> None:
        """Say what is true now."""
        turns = self._turns()
        if turns != self._last_turns:
            self._last_turns = turns
            self._notifier.alive()
        if not self._is_ready:
            self._begin()
        if self._clock() - self._said_s >= STATUS_S and self._notifier.is_heard:
            self._said_s = self._clock()
            self._notifier.status(self._line())

    def _begin(self) -> None:
        waits_for = self._board.unsettled()
        if not waits_for:
            self._is_ready = True
            self._said_s = self._clock()
            self._notifier.ready(self._line())

    def _line(self) -> str:
        waits_for = [] if self._is_ready else self._board.unsettled()
        if waits_for:
            return f"waiting for the first picture of {', '.join(waits_for)}"
        return status_line(self._board.health())
