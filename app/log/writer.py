"""The one thread that makes text of lines and writes it."""

from __future__ import annotations

import logging
import sys
import time
from threading import Event, Thread
from types import TracebackType

from typing_extensions import Self

from app.log.line import Line
from app.log.output import Output
from app.log.render import Render
from app.log.waiting import Waiting

PAUSE_S = 0.1
"""Between two looks at what waits. Nobody wakes the writer, because that would cost whoever logs a system call."""

BATCH = 200
REPORT_NS = 1_000_000_000
GIVE_UP_NS = 300_000_000
"""How long what still waits at the end may take."""

STUCK_S = 0.8


class Writer:
    """Writes what waits in batches while the block runs; what waits at its end is written, if that can be done soon.

    Args:
        waiting: the lines.
        render: makes text of a line.
        output: takes the text.

    Attributes:
        stuck: whether the thread did not end, because the disk holds it.
    """

    def __init__(self, waiting: Waiting, render: Render, output: Output) -> None:
        self.stuck = False
        self._waiting = waiting
        self._render = render
        self._output = output
        self._unwritten = 0
        self._reported, self._reported_ns = 0, 0
        self._stop = Event()
        self._give_up_ns = 0
        self._thread = Thread(target=self._run, name="log")

    def __enter__(self) -> Self:
        """Start the thread."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Write what waits, for a moment, and stop."""
        self._give_up_ns = time.monotonic_ns() + GIVE_UP_NS
        self._stop.set()
        self._thread.join(STUCK_S)
        self.stuck = self._thread.is_alive()

    @property
    def thread(self) -> Thread:
        """The thread, for whoever looks after it."""
        return self._thread

    @property
    def dropped(self) -> int:
        """Lines that found no room or could not be written so far; also while the disk holds the thread."""
        return self._waiting.dropped() + self._unwritten

    def _run(self) -> None:
        while not self._stop.wait(PAUSE_S):
            self._drain()
        self._drain()
        self._unwritten += sum(1 for _ in self._waiting.take(sys.maxsize))
        self._report(0)

    def _drain(self) -> None:
        """Write all that waits, a batch at a time."""
        while batch := list(self._waiting.take(BATCH)):
            self._write(batch)
            self._report(REPORT_NS)
            if self._must_end():
                break

    def _write(self, batch: list[Line]) -> None:
        texts = []
        for line in batch:
            texts.append(self._text(line))
            time.sleep(0)  # a frame that waits for the interpreter must not wait for the whole batch
        if not self._output.write("".join(texts), self._must_end):
            self._unwritten += len(batch)

    def _text(self, line: Line) -> str:
        try:
            return self._render(line)
        except Exception as error:  # as at a thread's root: one odd field must not end the log
            return self._render(Line(line.utc_ns, line.level, line.logger, line.event, {"unrenderable": str(error)}))

    def _report(self, pause_ns: int) -> None:
        """Say what was lost, at most once in `pause_ns`."""
        dropped, now_ns = self.dropped, time.monotonic_ns()
        if dropped == self._reported or now_ns - self._reported_ns < pause_ns:
            return
        fields = {"dropped": dropped - self._reported, "dropped_since_start": dropped}
        self._reported, self._reported_ns = dropped, now_ns
        line = Line(time.time_ns(), logging.WARNING, __name__, "the log is read too slowly: lines were dropped", fields)
        self._output.write(self._render(line), self._must_end)

    def _must_end(self) -> bool:
        return self._stop.is_set() and time.monotonic_ns() > self._give_up_ns
