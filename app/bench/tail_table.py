"""Which stage makes the tail: what the slowest frames took in each, beside the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

from rich.table import Table

SLOW_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class StageExtra:
    """One stage, in milliseconds.

    Attributes:
        usual: its median over all frames.
        slow: its mean over the slowest 1 % by their total.
    """

    stage: str
    usual: float
    slow: float

    @property
    def extra(self) -> float:
        """What it adds to a slow frame."""
        return self.slow - self.usual


def extras(frames_ms: Sequence[Mapping[str, float | None]]) -> list[StageExtra]:
    """Return every stage that ran, the one that adds most to slow frames first.

    Args:
        frames_ms: of each frame, its stages; a frame's total is their sum.
    """
    rows = sorted(([spent or 0.0 for spent in frame.values()] for frame in frames_ms), key=sum)
    if not rows:
        return []
    slow = rows[-max(1, round(len(rows) * SLOW_SHARE)) :]
    found = [
        StageExtra(stage, median(row[place] for row in rows), mean(row[place] for row in slow))
        for place, stage in enumerate(frames_ms[0])
    ]
    return sorted((one for one in found if one.slow > 0), key=lambda one: one.extra, reverse=True)


def tail_table(frames_ms: Sequence[Mapping[str, float | None]]) -> Table:
    """Return them as a table."""
    table = Table("stage", "usual, ms", "in the slowest 1 %", "adds", title="What makes the line's tail")
    for column in table.columns[1:]:
        column.justify = "right"
    for one in extras(frames_ms):
        table.add_row(one.stage, f"{one.usual:.2f}", f"{one.slow:.2f}", f"{one.extra:+.2f}")
    return table
