"""One thing that the doctor has looked at, and how it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Level(str, Enum):
    """How one thing is; from good to bad."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"

    @property
    def exit_code(self) -> int:
        """0, 1 or 2."""
        return list(Level).index(self)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the doctor's report.

    Attributes:
        topic: a few words that stay the same, e.g. "camera front".
        text: how it is.
        remedy: what to do; empty where nothing has to be done.
    """

    level: Level
    topic: str
    text: str
    remedy: str = ""


def ok(topic: str, text: str) -> Line:
    """Return a line about what is as it should be."""
    return Line(Level.OK, topic, text)


def warn(topic: str, text: str, remedy: str) -> Line:
    """Return a line about what will work, but not as well or as surely as it could."""
    return Line(Level.WARN, topic, text, remedy)


def fail(topic: str, text: str, remedy: str) -> Line:
    """Return a line about what keeps the service from inspecting."""
    return Line(Level.FAIL, topic, text, remedy)


def worst(lines: Iterable[Line]) -> Level:
    """Return the worst level of all lines."""
    return max((line.level for line in lines), key=lambda level: level.exit_code, default=Level.OK)
