"""A source in a process of its own: a driver that crashes or hangs ends that process and nothing else."""

from __future__ import annotations

import json
import logging
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from time import monotonic
from types import TracebackType
from typing import Any

from typing_extensions import Self

from app.capture.parcel import Pixels, planned, unpack
from app.config.sections import Source as SourceSection
from app.errors import SourceLost
from app.frame import Picture
from app.picture_memory import PictureMemory

CLOSE_S = 1.0
"""How long it may take to close its source."""
GRACE_S = 0.1
"""A source waits for its own time-out: its answer is to be had a moment after that."""
START_S = 20.0
"""What it may take more than a read to begin: an interpreter and the camera's libraries, on a slow disk."""

_WHERE = re.compile(r'File "(?:.*/)?([^"]+)", line (\d+) in (\w+)')

log = logging.getLogger(__name__)


class Isolated:
    """The pictures of a source that another process reads; a read keeps its time-out even where the driver hangs.

    The pixels are copied twice, into shared memory and out of it. `exposed_ns` is as the source says, `arrived_ns` when
    the pixels are in this process.

    Args:
        section: of the source; handed over by a pipe, because a command line can be read by everybody.
        command: of the process: reads the section and then time-outs, one a line, and gets three file descriptors as
            its last arguments: for its answers, the pixels and its last words.
        limit_s: how long opening or one read may take before it is taken for hung and ended.
    """

    def __init__(self, section: SourceSection, command: Sequence[str], limit_s: float) -> None:
        self._section = section
        self._pictures = PictureMemory()
        self._command = command
        self._limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._answers = self._memory = self._last_words = -1
        self._pixels: Pixels | None = None
        self._rest = b""
        self._asked_s: float | None = None

    def __enter__(self) -> Self:
        """Start the process and wait until it has opened the source.

        Raises:
            TaktsightError: what the source raised there.
            SourceLost: it crashed or hung.
        """
        with ExitStack() as opening:
            opening.push(self.__exit__)
            self._start()
            self._asked_s = monotonic()
            while (answer := self._answer(self._limit_s, START_S)) is None:
                pass
            self._check(answer)
            opening.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the process, politely at first."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None, "asked for"
            with suppress(BrokenPipeError):
                process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(CLOSE_S)
            process.kill()
            process.wait()
        if self._pixels is not None:
            self._pixels.close()
            self._pixels = None
        for descriptor in (self._answers, self._memory, self._last_words):
            if descriptor >= 0:
                os.close(descriptor)
        self._answers = self._memory = self._last_words = -1
        self._rest, self._asked_s = b"", None

    def read(self, timeout_s: float) -> Picture | None:
        """Return the next picture, or None where none came in time; what was asked for before is still awaited."""
        assert self._process is not None, "read before entering"
        if self._asked_s is None:
            self._ask(timeout_s)
        answer = self._answer(timeout_s + GRACE_S)
        if answer is None:
            return None
        self._check(answer)
        if answer["kind"] == "nothing":
            return None
        assert self._pixels is not None, "made on entering"
        return unpack(answer, self._pixels, self._pictures)

    def _start(self) -> None:
        self._memory, self._last_words = os.memfd_create("taktsight-pixels"), os.memfd_create("taktsight-last-words")
        self._pixels = Pixels(self._memory)
        self._answers, theirs = os.pipe()
        passed = (theirs, self._memory, self._last_words)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [*self._command, *map(str, passed)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=passed,
            )
        finally:
            os.close(theirs)
        # Not dumped by the section itself, which would mask its secrets.
        self._write(json.dumps(dict(self._section)).encode())

    def _ask(self, timeout_s: float) -> None:
        self._write(repr(timeout_s).encode())
        self._asked_s = monotonic()

    def _write(self, line: bytes) -> None:
        assert self._process is not None, "started"
        assert self._process.stdin is not None, "asked for"
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise SourceLost(self._crash()) from None

    def _answer(self, timeout_s: float, more_s: float = 0.0) -> dict[str, Any] | None:
        """Wait for one line; None where none came in time.

        Raises:
            SourceLost: the process is gone, or has kept silent for too long and is ended.
        """
        until_s = monotonic() + timeout_s
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        while b"\n" not in self._rest:
            if not poll.poll(max(0.0, until_s - monotonic()) * 1e3):
                self._end_if_hung(more_s)
                return None
            data = os.read(self._answers, 1 << 16)
            if not data:
                raise SourceLost(self._crash())
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        self._asked_s = None
        answer: dict[str, Any] = json.loads(line)
        for level, text in answer.pop("log"):
            log.log(level, "%s", text)
        return answer

    def _check(self, answer: dict[str, Any]) -> None:
        """Raise what the source raised over there."""
        if answer["kind"] not in ("opened", "nothing", "picture"):
            raise planned(answer["kind"], answer["text"])

    def _end_if_hung(self, more_s: float) -> None:
        assert self._process is not None, "started"
        silent_s = monotonic() - (self._asked_s or monotonic())
        if silent_s >= self._limit_s + more_s:
            self._process.kill()
            raise SourceLost(f"its process has hung for {silent_s:.0f} s and was ended")

    def _crash(self) -> str:
        """Say how the process ended, and where it was."""
        assert self._process is not None, "started"
        try:
            code = self._process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            return "its process has closed its pipe"
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        where = _WHERE.search(os.pread(self._last_words, 4096, 0).decode(errors="replace"))
        return f"its process has ended: {how}" + (" in {} line {} ({})".format(*where.groups()) if where else "")


def python_module(name: str) -> list[str]:
    """Return the command that runs a module with this Python."""
    return [sys.executable, "-m", name]
