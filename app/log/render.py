"""A line of the log as text: one JSON object, or words for people."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import TypeAlias

import msgspec
import structlog

from app.log.line import Line

Render: TypeAlias = Callable[[Line], str]
Clean: TypeAlias = Callable[[str], str]

NO_PADDING = 0
"""Given by its place, because structlog 26 renamed it."""

DEEPEST = 6
"""Fields inside fields that are shown; what lies deeper is shown as text."""

TRACEBACKS = frozenset({"exception", "stack"})
"""Fields that have several lines; all others are kept on one, so that nobody can write a line of the log for us."""

_ACTS = [*range(9), *range(11, 32), *range(127, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
_ESCAPES = {code: chr(code).encode("unicode_escape").decode() for code in _ACTS}
_ONE_LINE = _ESCAPES | {ord("\n"): "\\n"}

PRIORITIES = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))
"""The journal's priority of each level; below them all it is 7."""


class Renderer:
    """Makes text of lines, cleaned of what must not be shown.

    Args:
        clean: gets each text in a line, and the line itself; returns what may be shown.
        as_json: one JSON object a line.
        colours: for words on a terminal.
        journal: systemd's journal reads it: the priority goes before each line, and the time is the journal's own.
    """

    def __init__(self, clean: Clean, *, as_json: bool, colours: bool = False, journal: bool = False) -> None:
        self._clean = clean
        self._journal = journal
        self._words = structlog.processors.JSONRenderer(serializer=_json) if as_json else _console(colours)
        self._as_json = as_json

    def __call__(self, line: Line) -> str:
        """Return the text of one line, with its line end."""
        level = logging.getLevelName(line.level).lower()
        event: dict[str, object] = {"level": level, "logger": line.logger, "event": line.event}
        if not self._journal:
            event = {"timestamp": self._time(line.utc_ns), **event}
        # A part's own field must not take the place of one that every line has.
        event |= {f"{name}_" if name in event else name: value for name, value in line.fields.items()}
        # Before it is rendered, because JSON would write a secret with a quote in it another way, and after it.
        shown = {name: _plain(value, self._cleaned(name)) for name, value in event.items()}
        text = self._clean(str(self._words(None, "", shown)))
        return (_for_journal(text, line.level) if self._journal else text) + "\n"

    def _cleaned(self, field: str) -> Clean:
        """Return what cleans a field's text: of secrets, and of what a terminal would obey."""
        escapes = _ESCAPES if self._as_json or field in TRACEBACKS else _ONE_LINE
        return lambda text: self._clean(text).translate(escapes)

    def _time(self, utc_ns: int) -> str:
        when = datetime.fromtimestamp(utc_ns / 1e9, timezone.utc)
        if not self._as_json:
            return f"{when.astimezone():%H:%M:%S}.{when.microsecond // 1000:03d}"
        return f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03d}Z"


def _console(colours: bool) -> structlog.dev.ConsoleRenderer:
    return structlog.dev.ConsoleRenderer(
        NO_PADDING,
        colors=colours,
        sort_keys=False,
        pad_level=False,
        exception_formatter=structlog.dev.plain_traceback,  # tracebacks come as text already
    )


def _for_journal(text: str, level: int) -> str:
    """Put the priority before each line of a text, so that a traceback stays one of errors."""
    priority = next((number for least, number in PRIORITIES if level >= least), 7)
    return "\n".join(f"<{priority}>{part}" for part in text.splitlines())


def _json(event: Mapping[str, object], **_: object) -> str:
    return msgspec.json.encode(event).decode()


def _plain(value: object, clean: Clean, depth: int = 0) -> object:
    """Return a value as JSON has it, with all text in it cleaned."""
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 1 << 63):
        return value
    if isinstance(value, str):
        return clean(value.encode("utf-8", "replace").decode())
    if depth < DEEPEST and isinstance(value, Mapping):
        return {str(_plain(str(key), clean)): _plain(child, clean, depth + 1) for key, child in value.items()}
    if depth < DEEPEST and isinstance(value, list | tuple):
        return [_plain(child, clean, depth + 1) for child in value]
    return _plain(str(value), clean)
