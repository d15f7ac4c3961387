"""Where the text goes: a stream that may not take it now."""

from __future__ import annotations

import io
import os
import select
from collections.abc import Callable
from typing import Protocol, TextIO

CHUNK_BYTES = 4096
"""As much as a pipe takes whole once it says that it can be written to."""

POLL_MS = 100


class Output(Protocol):
    """Takes text."""

    def write(self, text: str, give_up: Callable[[], bool]) -> bool:
        """Write, waiting for room until `give_up` says so; return whether all of it was written."""
        ...


class Descriptor:
    """An open file, pipe, socket or terminal; written to only when it says that it has room.

    A pipe that nobody reads then holds up the writer until it gives up, and not for ever.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._poll = select.poll()
        self._poll.register(number, select.POLLOUT)

    def write(self, text: str, give_up: Callable[[], bool]) -> bool:
        """Write piece by piece; what can't be written because the reader is gone or the disk is full is lost."""
        data = text.encode("utf-8", "replace")
        try:
            while data:
                if self._poll.poll(POLL_MS):
                    data = data[self._some(data) :]
                elif give_up():
                    return False
        except OSError:
            return False
        return True

    def _some(self, data: bytes) -> int:
        try:
            return os.write(self._number, data[:CHUNK_BYTES])
        except BlockingIOError:  # somebody else filled it meanwhile, or wants it not to block
            return 0


class Stream:
    """A stream of Python's that stands for no file, as under a test."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, give_up: Callable[[], bool]) -> bool:
        """Write all of it."""
        self._stream.write(text)
        self._stream.flush()
        return True


def output_for(stream: TextIO) -> Output:
    """Return the way to write to a stream."""
    try:
        return Descriptor(stream.fileno())
    except io.UnsupportedOperation:
        return Stream(stream)


def is_journal(stream: TextIO) -> bool:
    """Whether systemd's journal is at the other end, which systemd says by device and inode."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, io.UnsupportedOperation):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"
