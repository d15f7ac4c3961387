"""Plain (unquoted) YAML scalars: the value that they are read as, or that people and YAML would disagree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

Scalar: TypeAlias = "bool | int | float | str | Unclear | None"

NULLS = frozenset({"~", "null", "Null", "NULL"})
TRUES = frozenset({"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
FALSES = frozenset({"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})
LONGEST_NUMBER = 40

# What YAML 1.1, YAML 1.2 and a person read differently. The order matters: the first that fits is told.
_UNCLEAR = (
    (re.compile(r"[-+]?0[0-9_]*[0-9]"), "a number with a leading zero, which some read as octal"),
    (re.compile(r"[-+]?0o[0-7_]+"), "an octal number"),
    (re.compile(r"[-+]?[0-9][0-9_]*(:[0-9]+)+(\.[0-9]*)?"), "a time, which YAML reads as a number in base 60"),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?"), "a date"),
)
_INTEGER = re.compile(r"[-+]?[0-9][0-9_]*")
_OTHER_BASE = re.compile(r"[-+]?0(x[0-9a-fA-F_]+|b[01_]+)")
_FLOAT = re.compile(r"[-+]?(\.[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


@dataclass(frozen=True, slots=True)
class Unclear:
    """A scalar that has no safe reading; it fits no field of the configuration."""

    text: str
    reading: str


def resolve(text: str) -> Scalar:
    """Return what an unquoted scalar stands for.

    Numbers are those of YAML 1.2 (`1e-3` is one); `yes`, `no`, `on` and `off` are still booleans, so that they can be
    refused where a name is wanted instead of passing as text in one reader and as a boolean in the next.
    """
    if text == "":
        return Unclear(text, "nothing")
    if text in NULLS:
        return None
    if text in TRUES or text in FALSES:
        return text in TRUES
    for pattern, reading in _UNCLEAR:
        if pattern.fullmatch(text):
            return Unclear(text, reading)
    return _number(text)


def _number(text: str) -> int | float | str | Unclear:
    """Return the number, or the text where it is none."""
    if _NOT_FINITE.fullmatch(text):
        return float(text.replace(".", "", 1))
    if not any(pattern.fullmatch(text) for pattern in (_INTEGER, _OTHER_BASE, _FLOAT)):
        return text
    if len(text) > LONGEST_NUMBER:
        return Unclear(text, "a number that is too long")
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(text):
        return int(digits)
    if _OTHER_BASE.fullmatch(text):
        return int(digits, 0)
    return float(digits)


def reading(value: object) -> str:
    """Return how YAML reads a value that is not text, for a sentence `… is read as {reading}`."""
    if isinstance(value, Unclear):
        return value.reading
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"the number {value}"
