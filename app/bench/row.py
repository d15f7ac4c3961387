"""One line of the table of the bench."""

from __future__ import annotations

from dataclasses import dataclass

from app.bench.ratio import Timing


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of one thing, and what was asked.

    Attributes:
        part: which part of the bench.
        what: the thing measured.
        median_ms, least_ms: over all calls; None where no time was measured.
        got: the figure that the target is about, in words.
        target: what was asked of it, in words; empty where nothing was.
        met: whether it is so; None where nothing was asked.
    """

    part: str
    what: str
    median_ms: float | None = None
    least_ms: float | None = None
    got: str = ""
    target: str = ""
    met: bool | None = None


def ratio_row(part: str, what: str, timing: Timing, ours: Timing, at_least: float | None) -> Row:
    """Return the row of a reference: how many times as long as ours it takes, by the medians."""
    ratio = timing.median_ms / ours.median_ms
    target = "" if at_least is None else f"≥ {at_least:g} ×"
    met = None if at_least is None else ratio >= at_least
    return Row(part, what, timing.median_ms, timing.least_ms, f"{ratio:.2f} ×", target, met)


def limit_row(part: str, what: str, timing: Timing, below_ms: float) -> Row:
    """Return the row of something that has to stay below a time, by the median."""
    met = timing.median_ms < below_ms
    return Row(part, what, timing.median_ms, timing.least_ms, f"{timing.median_ms:.2f} ms", f"< {below_ms:g} ms", met)
