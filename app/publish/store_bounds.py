"""What has to leave the outbox's file because it is too much or too old."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.publish.store import ROW_BYTES, Row, Store
from app.verdict import Verdict

CHOSEN = 256
"""Rows chosen at one time."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What may lie on disk.

    Attributes:
        expiry_s: for how long a message is live; None: for ever.
    """

    max_messages: int
    max_bytes: int
    max_age_s: float
    expiry_s: float | None


class Surplus:
    """Chooses what goes: the oldest OK first, NG and UNKNOWN and events when no OK is left.

    Args:
        store: read only.
        bounds: of what it may hold.
    """

    def __init__(self, store: Store, bounds: Bounds) -> None:
        self._store = store
        self._bounds = bounds
        self._seen_to = 0

    def too_much(self) -> Sequence[Row]:
        """Return the next rows that have to go; none once it is little enough."""
        count, size = self._store.count - self._bounds.max_messages, self._store.bytes - self._bounds.max_bytes
        if count <= 0 and size <= 0:
            return []
        # OKs are dropped in order, so that none lies before the last one that was looked at.
        good = self._store.of_kind(Verdict.OK.value, self._seen_to, CHOSEN)
        chosen = _enough(good or self._store.above(0, CHOSEN), count, size)
        if good:
            self._seen_to = chosen[-1].number
        return chosen

    def too_old(self, now_ns: int) -> Sequence[Row]:
        """Return the next rows that are too old."""
        return self._store.before(now_ns - int(self._bounds.max_age_s * 1e9), CHOSEN)


def _enough(rows: Sequence[Row], count: int, size: int) -> Sequence[Row]:
    """Return as many of the first rows as have to go."""
    for at, row in enumerate(rows):
        if count <= 0 and size <= 0:
            return rows[:at]
        count -= 1
        size -= len(row.message) + ROW_BYTES
    return rows
