"""A line's stages beside those of a baseline: which one has become slower, and where the bottleneck has gone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import hypot

from app.bench.baseline import Baseline, Measured

SIGMAS = 4.0
LEAST_TOLERANCE = 0.15
"""What one build of the same code differs from another by, if only for where its code lies in memory."""
SURE_TOLERANCE = 0.2
"""With more than this a slowdown by 30 % might pass unseen, so the comparison asks for more passes."""
OTHER_MACHINE = 0.5
"""Added where the baseline was measured on another processor: its ratios between kinds of work are others."""


class Change(str, Enum):
    """What has become of a stage."""

    SAME = "same"
    SLOWER = "slower"
    FASTER = "faster"
    UNSURE = "too noisy to tell"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Compared:
    """One stage then and now.

    Attributes:
        change: of the ratio, as a share: 0.3 is 30 % slower; 0 where one of the two is missing, or in other units.
        tolerance: what may differ by chance.
    """

    name: str
    then: Measured | None
    now: Measured | None
    change: float
    tolerance: float
    verdict: Change


def compare(then: Baseline, now: Baseline) -> list[Compared]:
    """Compare every stage that either of them has, in the order of the path as it is now."""
    elsewhere = OTHER_MACHINE if then.machine.get("processor") != now.machine.get("processor") else 0.0
    names = [*now.stages, *(name for name in then.stages if name not in now.stages)]
    return [_compared(name, then.stages.get(name), now.stages.get(name), elsewhere) for name in names]


def is_settled(rows: list[Compared]) -> bool:
    """Whether more passes would change nothing: none seems slower, none is too noisy."""
    return not any(row.verdict in (Change.SLOWER, Change.UNSURE) for row in rows)


def where_it_went(then: Baseline, now: Baseline) -> str:
    """Say which stage takes longest, and whether that is another one than before."""
    (before, share_before), (after, share) = then.bottleneck, now.bottleneck
    if before == after:
        return f"bottleneck: still {after}: {share:.0%} of the stages' time, {share_before:.0%} before"
    return f"bottleneck: moved from {before} ({share_before:.0%} of the stages' time) to {after} ({share:.0%})"


def _compared(name: str, then: Measured | None, now: Measured | None, elsewhere: float) -> Compared:
    if then is None or now is None or then.reference != now.reference:
        return Compared(name, then, now, 0.0, 0.0, Change.GONE if now is None else Change.NEW)
    change = now.ratio / then.ratio - 1
    noise = SIGMAS * hypot(then.error, now.error)
    tolerance = max(LEAST_TOLERANCE, noise) + elsewhere
    return Compared(name, then, now, change, tolerance, _verdict(change, tolerance, noise))


def _verdict(change: float, tolerance: float, noise: float) -> Change:
    if change > tolerance:
        return Change.SLOWER
    if noise > SURE_TOLERANCE:
        return Change.UNSURE
    return Change.FASTER if change < -tolerance else Change.SAME
