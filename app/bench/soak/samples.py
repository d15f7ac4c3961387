"""What is seen of the line from outside, again and again."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression, median

from app.bench.soak.faults import Plan
from app.publish.health import Health

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Sample:
    """One look.

    Attributes:
        at_s: since the beginning.
        rss_bytes, files, threads: of the line's process, as the kernel counts them.
        waiting: results that the broker does not have; None where the line did not say.
        per_s: verdicts a second, as it says itself.
        load: how many want the machine's processors, over the last minute.
    """

    at_s: float
    rss_bytes: int
    files: int
    threads: int
    waiting: int | None = None
    per_s: float | None = None
    load: float = 0.0


def look(pid: int, at_s: float, health: Health | None) -> Sample:
    """Look at a process.

    Raises:
        OSError: it is gone.
    """
    process = Path(f"/proc/{pid}")
    pages = int((process / "statm").read_text(encoding="ascii").split()[1])
    files, threads = (sum(1 for _ in (process / folder).iterdir()) for folder in ("fd", "task"))
    service = None if health is None else health.service
    return Sample(
        at_s,
        pages * PAGE_BYTES,
        files,
        threads,
        waiting=None if service is None else service.outbox_waiting,
        per_s=None if service is None else service.verdicts_per_s,
        load=os.getloadavg()[0],
    )


@dataclass(frozen=True, slots=True)
class Growth:
    """What one figure was in each round of faults while the line was at rest, beginning with the second round."""

    rounds: list[float]

    @property
    def value(self) -> float:
        """From the first round after the warm-up to the last, by the straight line through all: one round is noise."""
        last = len(self.rounds) - 1
        return linear_regression(range(last + 1), self.rounds).slope * last if last > 0 else 0.0

    @property
    def by_ends(self) -> float:
        """The last round less the first one after the warm-up, for comparison."""
        return self.rounds[-1] - self.rounds[0] if self.rounds else 0.0


def growth(samples: Sequence[Sample], plan: Plan, figure: str, of: Callable[[list[float]], float] = median) -> Growth:
    """Return the growth of one figure, round by round.

    Args:
        samples: in their order.
        plan: says which of them were taken at rest.
        figure: an attribute of theirs.
        of: makes one figure of a round's: the least, where what is there for a moment only must not count.
    """
    warm = 1 if plan.rounds > 1 else 0
    return Growth(
        [
            of([getattr(sample, figure) for sample in resting])
            for number, resting in at_rest(samples, plan).items()
            if number >= warm
        ]
    )


def at_rest(samples: Sequence[Sample], plan: Plan) -> dict[int, list[Sample]]:
    """Return the looks at the line while no fault lasted or was a moment ago, by round, in order."""
    rounds: dict[int, list[Sample]] = {}
    for sample in samples:
        if sample.at_s <= plan.seconds and plan.is_settled(sample.at_s):
            rounds.setdefault(plan.round_at(sample.at_s), []).append(sample)
    return dict(sorted(rounds.items()))
