"""Takes what the parts say through `logging` and puts it where the writer finds it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from app.log.line import Line

STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has; all else in one was given as `extra` and is a field of the line."""

_TRACEBACK = logging.Formatter()


class QueueingHandler(logging.Handler):
    """A handler that never waits, not even for another thread that logs.

    Args:
        put: takes the line.
    """

    def __init__(self, put: Callable[[Line], object]) -> None:
        super().__init__()
        self._put = put

    def handle(self, record: logging.LogRecord) -> bool:
        """Emit without the lock that `logging` would hold meanwhile; whoever has it may have lost the interpreter."""
        self.emit(record)
        return True

    def emit(self, record: logging.LogRecord) -> None:
        """Queue one record. Its text is made here, because its arguments may change before the writer sees it."""
        fields = {name: value for name, value in vars(record).items() if name not in STANDARD}
        if record.exc_info and record.exc_info[0] is not None:
            fields["exception"] = _TRACEBACK.formatException(record.exc_info)
        self._put(Line(int(record.created * 1e9), record.levelno, record.name, _text(record), fields))


def _text(record: logging.LogRecord) -> str:
    """Return the record's text; one whose arguments don't fit is shown as it is, because logging must not raise."""
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        return f"{record.msg} {record.args}"
