"""One line of the log before it is text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Fields: TypeAlias = Callable[[], Mapping[str, Any]] | Mapping[str, Any]
"""What else a line says: as it is, or what makes it, called by the writer."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line.

    Attributes:
        utc_ns: wall clock in nanoseconds, a label only.
        level: as in `logging`.
        logger: who says it.
        event: what happened, for a person.
        fields: what else there is to say; nothing in it changes any more.
        kept: takes room before others where it is scarce.
    """

    utc_ns: int
    level: int
    logger: str
    event: str
    fields: Fields
    kept: bool = False
