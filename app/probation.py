"""Whether a camera has got worse since its model was exchanged: more UNKNOWN, or slower."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from app.latency.percentiles import percentile
from app.verdict import Code, Outcome, Verdict

REMEMBERED = 200
LEAST = 20
"""Frames from which on the time before is something to compare with."""
MORE_UNKNOWN = 0.2
"""So much more of all frames may be UNKNOWN, as a share."""
SURE = 100
"""Frames with either model from which on that share tells something: a belt shows the same gap in many in a row."""
BLIND = 0.9
"""A share of UNKNOWN that needs no more than the least number of frames: the new model sees nothing."""
SLOWER = 1.5
SLACK_MS = 5.0
"""The median may take so many times as long, and so many milliseconds more."""
NOT_THE_MODELS = frozenset(
    {
        *(Code.BLACK, Code.OVEREXPOSED, Code.BLANK, Code.BLURRED, Code.STARTING, Code.FROZEN, Code.STALE, Code.TORN),
        *(Code.WRONG_SIZE, Code.WRONG_FORMAT, Code.UNREADABLE, Code.OVERRUN, Code.PAUSED),
    }
)
"""Why a picture is UNKNOWN that no model has looked at: the light went out, or the camera is paused."""


@dataclass(slots=True)
class Recent:
    """One camera's last frames."""

    unknown: deque[bool] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    spent_ms: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def take(self, outcome: Outcome) -> bool:
        """Take one verdict; return whether it says anything of the model."""
        judgement = outcome.judgement
        if any(reason.code in NOT_THE_MODELS for reason in judgement.reasons):
            return False
        self.add(unknown=judgement.verdict is Verdict.UNKNOWN, spent_ms=outcome.trace.total_ms)
        return True

    def add(self, *, unknown: bool, spent_ms: float) -> None:
        """Take one frame."""
        self.unknown.append(unknown)
        self.spent_ms.append(spent_ms)

    @property
    def share_unknown(self) -> float:
        """Of all frames, those that are UNKNOWN."""
        return sum(self.unknown) / len(self.unknown) if self.unknown else 0.0

    @property
    def median_ms(self) -> float:
        """What half of the frames took at most; 0 where there were none."""
        return percentile(sorted(self.spent_ms), "50") if self.spent_ms else 0.0


def worse(before: Recent, since: Recent) -> str | None:
    """Return what is worse than before, as one line; None while nothing is, or while there is nothing to tell it by."""
    if len(before.unknown) < LEAST or len(since.unknown) < LEAST:
        return None
    rise = since.share_unknown - before.share_unknown
    is_sure = min(len(before.unknown), len(since.unknown)) >= SURE or since.share_unknown >= BLIND
    if rise > MORE_UNKNOWN and is_sure:
        return f"{since.share_unknown:.0%} of its pictures are UNKNOWN, {before.share_unknown:.0%} were"
    if since.median_ms > SLOWER * before.median_ms + SLACK_MS:
        return f"a verdict takes {since.median_ms:.0f} ms, it took {before.median_ms:.0f} ms"
    return None
