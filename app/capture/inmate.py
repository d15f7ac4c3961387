"""The loop of a process that does nothing but read one source: a line is asked, a line is answered."""

from __future__ import annotations

import ctypes
import faulthandler
import logging
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

from app.capture.base import Source
from app.capture.parcel import Pixels, line_of, pack

_PR_SET_PDEATHSIG = 1

log = logging.getLogger(__name__)


class Kept(logging.Handler):
    """Keeps the lines of the log for the process that asks."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        self.lines.append((record.levelno, record.getMessage()))

    def taken(self) -> list[tuple[int, str]]:
        """Return what came since the last time."""
        lines, self.lines = self.lines, []
        return lines


def settle_in(last_words: int) -> Kept:
    """Make this process one that ends with the one that asks, and says where it was when it crashed.

    Args:
        last_words: file descriptor that takes them.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to the whole group; whoever asks says when it is over
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # the pipe's end is not seen while a driver hangs
    faulthandler.enable(last_words)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what drivers print would be nobody's answer
    kept = Kept()
    logging.basicConfig(level=logging.INFO, handlers=[kept])
    return kept


def serve(source: Source, asked: Iterable[str], answers: int, pixels: Pixels, kept: Kept) -> None:
    """Open the source and answer each line, the time-out of one read in seconds, until there are no more.

    Args:
        source: entered and left here.
        asked: lines.
        answers: file descriptor that they go to, one line each; the first says that it is open.
        pixels: where pictures go.
        kept: the log.
    """
    with ExitStack() as stack:
        for answer in _answers(source, asked, pixels, stack):
            line = line_of({**answer, "log": kept.taken()})
            while line:
                line = line[os.write(answers, line) :]


def _answers(source: Source, asked: Iterable[str], pixels: Pixels, stack: ExitStack) -> Iterator[dict[str, Any]]:
    try:
        opened = stack.enter_context(source)
        yield {"kind": "opened"}
        for line in asked:
            picture = opened.read(float(line))
            yield {"kind": "nothing"} if picture is None else {"kind": "picture", **pack(picture, pixels)}
    except Exception as error:  # this process's root: whoever asks decides
        log.debug("ends", exc_info=error)
        yield {"kind": type(error).__name__, "text": str(error)}


def lines() -> Iterator[str]:
    """Yield what is asked, until whoever asks is gone."""
    yield from iter(sys.stdin.readline, "")
