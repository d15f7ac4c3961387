"""Switches the log on for as long as a block runs."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.config.sections import Log
from app.log.frames import FrameLog
from app.log.handler import QueueingHandler
from app.log.output import is_journal, output_for
from app.log.render import Clean, Renderer
from app.log.waiting import Waiting
from app.log.writer import Writer
from app.verdict import Outcome


class Running:
    """The log while it is on.

    Attributes:
        writer: knows how many lines were dropped, and afterwards whether its thread is stuck.
    """

    def __init__(self, section: Log, waiting: Waiting, writer: Writer) -> None:
        self.writer = writer
        self._waiting = waiting
        self._judged: Callable[[Outcome], None] = _ignored
        self.configure(section)

    def judged(self, outcome: Outcome) -> None:
        """Take a verdict as soon as it is known."""
        self._judged(outcome)

    def configure(self, section: Log) -> None:
        """Go by another level and another number of lines about frames from now on."""
        logging.getLogger().setLevel(section.level.upper())
        told = section.level in ("debug", "info")  # as lines about frames are
        self._judged = FrameLog(self._waiting, section.frames_per_s).judged if told else _ignored


def _ignored(_: Outcome) -> None:
    """Say nothing of a frame."""


@contextmanager
def logging_to_stderr(section: Log | None = None, clean: Clean = str) -> Iterator[Running]:
    """Write the log to stderr from a thread of its own while the block runs; what waits is written at its end.

    Args:
        section: level, format and bounds.
        clean: gets any text of the log, returns what may be shown.
    """
    section = section or Log()
    stream, terminal = sys.stderr, sys.stderr.isatty()
    as_json = section.format == "json" or (section.format == "auto" and not terminal)
    waiting = Waiting(section.max_waiting)
    colours = terminal and not os.environ.get("NO_COLOR")
    render = Renderer(clean, as_json=as_json, colours=colours, journal=is_journal(stream))
    handler, root = QueueingHandler(waiting.put), logging.getLogger()
    before = root.level
    with Writer(waiting, render, output_for(stream)) as writer:
        root.addHandler(handler)
        try:
            yield Running(section, waiting, writer)
        finally:
            root.removeHandler(handler)
            root.setLevel(before)
