"""Times ways of running one network side by side: whole runs, and what the host spends on handing a run over."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import TypeAlias

from app.latency.percentiles import Percentiles, percentiles

Run: TypeAlias = Callable[[], object]
Parts: TypeAlias = Callable[[], "Split"]

WARM_UP = 5
BURST = 5
LEAST_RUNS = 30
"""Of each way, however long they take."""


@dataclass(frozen=True, slots=True)
class Split:
    """One run, as `trtexec` takes it apart.

    Attributes:
        enqueue_ms: how long the host took to hand it over (trtexec: enqueue time).
        gpu_ms: how long the GPU worked on it (trtexec: GPU compute time).
    """

    enqueue_ms: float
    gpu_ms: float


@dataclass(frozen=True, slots=True)
class Subject:
    """One way to run one batch; entered already.

    Attributes:
        way: e.g. "CUDA graph".
        run: from inputs in the host's memory to outputs there, waited for.
        parts: one run taken apart; None where that can't be seen.
    """

    way: str
    batch: int
    run: Run
    parts: Parts | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of one way with one batch.

    Attributes:
        whole: milliseconds of whole runs.
        enqueue, gpu: milliseconds of their parts; None where they can't be seen.
    """

    way: str
    batch: int
    whole: Percentiles
    enqueue: Percentiles | None = None
    gpu: Percentiles | None = None

    @property
    def pictures_per_s(self) -> float:
        """At full load."""
        return self.batch / self.whole.p50 * 1000 if self.whole.p50 else 0.0

    @property
    def overhead_ms(self) -> float | None:
        """What a whole run takes beyond the GPU's work: copies, calls and waiting."""
        return None if self.gpu is None else self.whole.p50 - self.gpu.p50


@dataclass(slots=True)
class _Taken:
    whole_ns: list[int] = field(default_factory=list)
    parts: list[Split] = field(default_factory=list)


def measure(
    subjects: Sequence[Subject], seconds: float, on_progress: Callable[[float], None] = lambda share: None
) -> list[Row]:
    """Time every subject in turns, so that whatever else the machine does hits all of them alike.

    Args:
        subjects: the ways to compare.
        seconds: for each of them; all get `LEAST_RUNS` runs at least.
        on_progress: told how much of the time is over, 0 … 1.
    """
    taken = [_Taken() for _ in subjects]
    for subject in subjects:
        for _ in range(WARM_UP):
            subject.run()
    end_ns = int(seconds * len(subjects) * 1e9)
    collecting = gc.isenabled()
    gc.disable()
    try:
        began_ns = monotonic_ns()
        while (spent_ns := monotonic_ns() - began_ns) < end_ns or len(taken[0].whole_ns) < LEAST_RUNS:
            for subject, one in zip(subjects, taken, strict=True):
                _burst(subject, one)
            on_progress(min(spent_ns / max(end_ns, 1), len(taken[0].whole_ns) / LEAST_RUNS, 1.0))
    finally:
        if collecting:
            gc.enable()
    return [_row(subject, one) for subject, one in zip(subjects, taken, strict=True)]


def _burst(subject: Subject, taken: _Taken) -> None:
    subject.run()  # pays for the caches that the way before left behind
    for _ in range(BURST):
        began_ns = monotonic_ns()
        subject.run()
        taken.whole_ns.append(monotonic_ns() - began_ns)
    if subject.parts is not None:
        taken.parts.append(subject.parts())


def _row(subject: Subject, taken: _Taken) -> Row:
    whole = percentiles([spent / 1e6 for spent in taken.whole_ns])
    if not taken.parts:
        return Row(subject.way, subject.batch, whole)
    enqueue = percentiles([split.enqueue_ms for split in taken.parts])
    return Row(subject.way, subject.batch, whole, enqueue, percentiles([split.gpu_ms for split in taken.parts]))


def best_by_batch(rows: Iterable[Row]) -> list[Row]:
    """Return the fastest way of each batch, the smallest batch first."""
    best: dict[int, Row] = {}
    for row in rows:
        if row.batch not in best or row.whole.p50 < best[row.batch].whole.p50:
            best[row.batch] = row
    return [best[batch] for batch in sorted(best)]
