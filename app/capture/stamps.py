"""Whether the time stamps of a camera's pictures go on."""

from __future__ import annotations

from app.frame import Picture
from app.verdict import Code, Reason

HANG_AFTER = 50
"""Old pictures in a row after which the source should be opened again: what it holds back has to go."""

AT_ONCE_NS = 10_000_000
"""Two pictures out of one packet have one stamp, and come together."""


class Stamps:
    """Looks at the time stamps of one camera's pictures in their order.

    Args:
        max_age_s: how old a picture may be when it arrives.
    """

    def __init__(self, max_age_s: float) -> None:
        self._max_age_s = max_age_s
        self.reset()

    def reset(self) -> None:
        """Forget the last picture: the source was opened again."""
        self._exposed_ns = self._arrived_ns = -1
        self._old = 0

    @property
    def hang(self) -> bool:
        """Whether so many old pictures have come in a row that the source should be opened again."""
        return self._old >= HANG_AFTER

    def check(self, picture: Picture) -> Reason | None:
        """Return why a picture is not a new one, or None."""
        reason = self._reason(picture)
        self._old = self._old + 1 if reason else 0
        return reason

    def _reason(self, picture: Picture) -> Reason | None:
        before_ns, came_ns = self._exposed_ns, self._arrived_ns
        newest_ns = max(before_ns, min(picture.exposed_ns, picture.arrived_ns))
        self._exposed_ns, self._arrived_ns = newest_ns, picture.arrived_ns
        age_s = (picture.arrived_ns - picture.exposed_ns) / 1e9
        if age_s > self._max_age_s:
            return Reason(Code.STALE, f"the picture was {age_s:.1f} s old when it came, by its time stamp")
        back_ms = (before_ns - picture.exposed_ns) / 1e6
        if before_ns < 0 or back_ms < 0 or (back_ms == 0 and picture.arrived_ns - came_ns < AT_ONCE_NS):
            return None
        if back_ms == 0:
            return Reason(Code.STALE, "the picture has the time stamp of the one before")
        return Reason(Code.STALE, f"the picture's time stamp is {back_ms:.0f} ms before that of an earlier one")
