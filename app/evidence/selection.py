"""Which outcomes are worth keeping, and why; pure but for the clock."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from app.config.evidence import Collect, Evidence
from app.verdict import Code, Outcome

LOOKED_AT = frozenset(
    {Code.COUNT, Code.FORBIDDEN, Code.MISSING, Code.CAP_REACHED, Code.BAD_OUTPUT, Code.NO_PART, Code.UNLOOKED}
)
NO_TIME = frozenset({Code.LATE, Code.OVERRUN, Code.PAUSED})
"""With these a good picture was not looked at, or not to the end."""
FAULTY = frozenset(Code) - LOOKED_AT - NO_TIME
"""With these the line says UNKNOWN without asking the network, because of the picture."""
_WHOLE = 1 - 1e-9
"""A place, whatever ten tenths add up to."""


class Selection:
    """Chooses evidence; one camera can't fill the disk with one kind of fault.

    Args:
        section: what is wanted.
        clock: seconds, monotonic.
    """

    def __init__(self, section: Evidence, clock: Callable[[], float] = monotonic) -> None:
        self._section = section
        self._clock = clock
        self._room: dict[tuple[str, str], tuple[float, float]] = {}
        self.thinned = 0
        """Outcomes that were wanted and came faster than `max_per_s`."""

    def why(self, outcome: Outcome) -> tuple[str, ...]:
        """Say why an outcome is kept; empty where it is not."""
        reasons = tuple(self._reasons(outcome))
        if reasons and not self._has_room(outcome):
            self.thinned += 1
            return ()
        return reasons

    def _reasons(self, outcome: Outcome) -> list[str]:
        judgement, section = outcome.judgement, self._section
        if any(reason.code is Code.PAUSED for reason in judgement.reasons):
            return []  # nobody wants a verdict of these parts, so there is nothing to prove
        words = ["verdict"] if judgement.verdict.value in section.verdicts else []
        words += ["late"] if section.late and any(reason.code is Code.LATE for reason in judgement.reasons) else []
        nearest = outcome.nearest
        words += ["borderline"] if nearest is not None and 0 < section.borderline >= nearest else []
        return words

    def _has_room(self, outcome: Outcome) -> bool:
        """Take one of the camera's and verdict's places, which come back at `max_per_s`."""
        key, now_s, rate = (outcome.camera, outcome.judgement.verdict.value), self._clock(), self._section.max_per_s
        most = max(rate, 1.0)
        places, at_s = self._room.get(key, (most, now_s))
        places = min(most, places + (now_s - at_s) * rate)
        has_room = places >= _WHOLE
        self._room[key] = (places - has_room, now_s)
        return has_room


class Sampler:
    """Chooses the sample: one picture of a camera every so often.

    Args:
        section: what is wanted.
        clock: seconds, monotonic.
    """

    def __init__(self, section: Collect, clock: Callable[[], float] = monotonic) -> None:
        self._section = section
        self._clock = clock
        self._last_s: dict[str, float] = {}

    def wants(self, outcome: Outcome) -> bool:
        """Whether this picture is taken; the next of its camera is then some time away."""
        judgement, now_s = outcome.judgement, self._clock()
        if judgement.verdict.value not in self._section.verdicts:
            return False
        if any(reason.code in FAULTY for reason in judgement.reasons):
            return False
        if now_s - self._last_s.get(outcome.camera, -self._section.every_s) < self._section.every_s:
            return False
        self._last_s[outcome.camera] = now_s
        return True
