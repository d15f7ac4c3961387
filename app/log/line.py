"""One line of the log before it is text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Line:
    """One line.

    Attributes:
        utc_ns: wall clock in nanoseconds, a label only.
        level: as in `logging`.
        logger: who says it.
        event: what happened, for a person.
        fields: what else there is to say; nothing in it changes any more.
    """

    utc_ns: int
    level: int
    logger: str
    event: str
    fields: Mapping[str, Any]
