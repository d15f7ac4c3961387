"""Says once that a value is out of bounds and once that it is back, and not again and again around the limit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

EVERY_NS = 60_000_000_000
"""One alert says something at most so often."""
BACK_SHARE = 0.1
"""A value counts as back once it is within its limit by this share of it."""


class Change(str, Enum):
    """What an alert has to say."""

    RAISED = "raised"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class Limit:
    """What a value must not pass.

    Attributes:
        is_least: it must not fall below; else it must not rise above.
    """

    value: float
    is_least: bool = False

    def passed_by(self, value: float) -> bool:
        """Return whether a value is out of bounds."""
        return value < self.value if self.is_least else value > self.value

    def left_by(self, value: float) -> bool:
        """Return whether a value is clearly within bounds."""
        share = BACK_SHARE if self.is_least else -BACK_SHARE
        return not Limit(self.value * (1 + share), self.is_least).passed_by(value)


class Alert:
    """One value's alert; knows no clock.

    Args:
        limit: of the value.
    """

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.is_raised = False
        self.raised = 0
        """How often it was raised so far."""
        self._quiet_until_ns: int | None = None

    def see(self, value: float | None, now_ns: int) -> Change | None:
        """Take the value as it is now, None where it can't be told; return what there is to say."""
        if value is None or (self._quiet_until_ns is not None and now_ns < self._quiet_until_ns):
            return None
        is_raised = not self.limit.left_by(value) if self.is_raised else self.limit.passed_by(value)
        if is_raised == self.is_raised:
            return None
        self.is_raised = is_raised
        self.raised += is_raised
        self._quiet_until_ns = now_ns + EVERY_NS
        return Change.RAISED if is_raised else Change.CLEARED
