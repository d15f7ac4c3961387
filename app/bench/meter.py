"""Measures a line's stages beside their references, in passes that are a process each."""

from __future__ import annotations

import gc
import json
import logging
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from statistics import median

import cv2
import msgspec

from app.bench.reference import Work, references
from app.bench.stages import Stage, stages_of
from app.config import load
from app.errors import ConfigError, TaktsightError
from app.steady.huge_pages import HALF_FULL, use_huge_pages

ROUNDS = 5
WARM_UP = 2  # an engine allocates in its first run, and in its second what it has learned from that
LEAST_NS = 1_000_000
"""A sample is made of as many calls as take so long, so that reading the clock does not matter."""
BURST = 4
"""Samples of stage and reference, in turns, of which the least counts: what a neighbour disturbs is longer."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass found of one stage.

    Attributes:
        reference: the piece of work that it is compared with.
        ratio: the stage's time over the reference's.
        ms: what one call takes on this machine.
    """

    reference: str
    ratio: float
    ms: float


def one_pass(line: Path, slowed: Mapping[str, float] | None = None) -> dict[str, Pass]:
    """Measure each stage of a line in a process of its own.

    Where memory comes to lie, and what else a process has done, makes one process differ from the next more than the
    rounds in it differ from one another. So the spread that counts is that between processes.

    Args:
        line: the configuration's file.
        slowed: stages with so many times their work, for trying out whether it is noticed.

    Raises:
        TaktsightError: the line can't run; the text is what the process said.
    """
    command = [sys.executable, "-m", __name__, str(line), json.dumps(dict(slowed or {}))]
    said = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - this very file
    if said.returncode:
        raise TaktsightError((said.stderr.strip() or f"{command}: no word").splitlines()[-1])
    return msgspec.json.decode(said.stdout, type=dict[str, Pass])


def main(line: str, slowed: str) -> None:
    """Measure one pass and print it as JSON; the body of that process."""
    logging.disable(logging.WARNING)  # what the cameras say of themselves
    cv2.setNumThreads(1)
    factors: dict[str, float] = json.loads(slowed)
    try:
        with stages_of(load(Path(line))) as stages:
            unknown = set(factors) - {stage.name for stage in stages}
            if unknown:
                raise ConfigError(f"no stage {', '.join(sorted(unknown))} to slow down")
            work = references()
            for run in (*work.values(), *(stage.run for stage in stages)) * WARM_UP:
                run()
            # As the service does once all is warm; else each process has other luck.
            use_huge_pages(least_full=HALF_FULL)
            found = measure([stage.slowed(factors.get(stage.name, 1.0)) for stage in stages], work, ROUNDS)
    except TaktsightError as error:
        sys.exit(str(error))
    sys.stdout.write(json.dumps({name: asdict(one) for name, one in found.items()}))


def measure(stages: Sequence[Stage], work: Mapping[str, Work], rounds: int) -> dict[str, Pass]:
    """Visit every stage in each round, each round beginning with another one.

    The garbage collector is off meanwhile.

    Args:
        stages: what is measured.
        work: what it is compared with, by the names that the stages give.
        rounds: of which the median counts.
    """
    calls = {stage.name: _calibrated(stage) for stage in stages}
    found: dict[str, list[tuple[float, float]]] = {stage.name: [] for stage in stages}
    order = deque(stages)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for stage in order:
                found[stage.name].append(_visit(stage, work[stage.reference], calls[stage.name]))
            order.rotate(-1)
    finally:
        if collecting:
            gc.enable()
    passes: dict[str, Pass] = {}
    for stage in stages:
        ratios, times_ms = zip(*found[stage.name], strict=True)
        passes[stage.name] = Pass(stage.reference, median(ratios), median(times_ms))
    return passes


def _calibrated(stage: Stage) -> int:
    """Return how many calls make a sample; warms up."""
    stage.run()
    return ceil(LEAST_NS / min(_spent_ns(stage.run, 1, stage.clock_ns) for _ in range(5)))


def _visit(stage: Stage, work: Work, calls: int) -> tuple[float, float]:
    """Return the stage's time over the reference's, and the stage's in milliseconds; the first pair is the warm-up.

    The reference is done until it has taken as long as the stage. A short one would slip through between two
    interruptions by a neighbour, and the longer one never.
    """
    clock_ns = stage.clock_ns
    own_ns = _spent_ns(stage.run, calls, clock_ns)
    repeats = max(1, round(own_ns / _spent_ns(work, 1, clock_ns)))
    pairs = [(_spent_ns(work, repeats, clock_ns), _spent_ns(stage.run, calls, clock_ns)) for _ in range(BURST)]
    reference_ns, own_ns = (min(spent) for spent in zip(*pairs, strict=True))
    return own_ns / calls / reference_ns * repeats, own_ns / calls / 1e6


def _spent_ns(work: Callable[[], object], calls: int, clock_ns: Callable[[], int]) -> int:
    began_ns = clock_ns()
    for _ in range(calls):
        work()
    return max(1, clock_ns() - began_ns)


if __name__ == "__main__":
    main(*sys.argv[1:])
