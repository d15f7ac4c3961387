"""A file with one JSON message a line."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from types import TracebackType

from typing_extensions import Self

from app.config.sections import Jsonl
from app.errors import ConfigError, SinkLost
from app.publish.message import Message, encode

logger = logging.getLogger(__name__)


class JsonlSink:
    """Appends messages to a file; each is there for a reader at once, and no line is ever a mixture of two.

    Args:
        section: where the file is.
    """

    def __init__(self, section: Jsonl) -> None:
        self._path = Path(section.path)
        self._file: io.FileIO | None = None
        self._is_torn = False
        self._is_refused = False

    def __enter__(self) -> Self:
        """Open the file, and make its folder where that is missing.

        Raises:
            ConfigError: it can't be opened to be written.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            raise ConfigError(f"jsonl.path {self._path}: can't be written ({error.strerror}); choose a path that this "
                              "user may write to") from error  # fmt: skip
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def send(self, message: Message) -> None:
        """Append one line.

        Raises:
            SinkLost: the disk is full or gone; the line is not there, or torn and closed before the next one.
        """
        if self._file is None:
            raise SinkLost(f"{self._path}: is not open")
        line = (b"\n" if self._is_torn else b"") + encode(message) + b"\n"
        written = 0
        try:
            while written < len(line):
                written += self._file.write(line[written:])
        except OSError as error:
            self._is_torn = self._is_torn or written > 0
            self._complain(error)
            raise SinkLost(f"{self._path}: {error.strerror}; the message is kept") from error
        self._is_torn = self._is_refused = False

    def _complain(self, error: OSError) -> None:
        """Say once that the disk does not take it, until it has taken a line again."""
        if not self._is_refused:
            logger.error("jsonl.path %s: %s; messages wait until that changes", self._path, error.strerror)
        self._is_refused = True
