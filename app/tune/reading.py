"""What one buffer size does to a camera's pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import monotonic_ns, process_time

from app.capture.base import Source
from app.errors import EndOfStream, SourceLost
from app.latency.percentiles import Percentiles, percentiles

READ_S = 0.2
FPS_SLACK, GAP_SLACK = 0.02, 0.5
"""How much fewer pictures, and how much longer the longest gaps, are still no difference."""

AGE_SLACK, AGE_FLOOR_MS = 0.1, 1.0
"""Of the least age, and in milliseconds, what is still no difference."""


NONE = percentiles()


@dataclass(frozen=True, slots=True)
class Reading:
    """What was measured with one buffer.

    Attributes:
        size: of the buffer, in its own unit; None is what the system has by itself.
        fps: good pictures a second.
        faults: pictures that came damaged.
        age_ms: from the exposure, as near to it as the source knows, to the hand-over.
        gap_ms: from one picture to the next.
        cpu: cores that the process kept busy meanwhile.
        lost: why the source was lost, empty where it was not.
    """

    size: int | None
    fps: float = 0.0
    faults: int = 0
    age_ms: Percentiles = NONE
    gap_ms: Percentiles = NONE
    cpu: float = 0.0
    lost: str = ""


def read_for(source: Source, size: int | None, seconds: float, tick: Callable[[], object], settle_s: float) -> Reading:
    """Open a source and read it as fast as it gives, as its feed does.

    Args:
        source: not yet open; closed again.
        size: goes into the reading.
        seconds: for how long.
        tick: called after each read, to show progress.
        settle_s: how long not to count at first.

    Raises:
        SourceError: it can never give pictures.
    """
    ages, arrivals, faults = [], [], 0
    try:
        with source:
            _read(source, settle_s, tick, lambda *_: None)
            began_ns, began_cpu = monotonic_ns(), process_time()

            def take(age_ns: int, now_ns: int, bad: bool) -> None:
                nonlocal faults
                faults += bad
                ages.append(age_ns / 1e6)
                arrivals.append(now_ns)

            _read(source, seconds, tick, take)
            took_s, cpu_s = (monotonic_ns() - began_ns) / 1e9, process_time() - began_cpu
    except (SourceLost, EndOfStream) as error:
        return Reading(size, lost=str(error))
    gaps = [(later - earlier) / 1e6 for earlier, later in pairwise(arrivals)]
    good = len(arrivals) - faults
    return Reading(size, good / took_s, faults, percentiles(ages), percentiles(gaps), cpu_s / took_s)


def _read(source: Source, seconds: float, tick: Callable[[], object], take: Callable[[int, int, bool], object]) -> None:
    until_ns = monotonic_ns() + round(seconds * 1e9)
    while monotonic_ns() < until_ns:
        picture = source.read(READ_S)
        now_ns = monotonic_ns()
        if picture is not None:
            take(now_ns - picture.exposed_ns, now_ns, picture.fault is not None)
        tick()


def is_worse(reading: Reading, best: Reading) -> bool:
    """Whether pictures are lost, damaged or held up that were not with another buffer."""
    return (
        bool(reading.lost)
        or reading.fps < best.fps * (1 - FPS_SLACK)
        or reading.faults > best.faults
        or reading.gap_ms.p99 > best.gap_ms.p99 * (1 + GAP_SLACK)
    )


def knee(readings: Sequence[Reading]) -> Reading | None:
    """Return the reading of the buffer to use: of those that lose nothing, the largest of the least age.

    A smaller one would gain nothing, and has less room for a bad moment.

    Args:
        readings: from the largest buffer to the smallest.

    Returns:
        None where no buffer gave any picture.
    """
    there = [reading for reading in readings if reading.fps > 0]
    if not there:
        return None
    best = max(there, key=lambda reading: reading.fps)
    sound = [reading for reading in there if not is_worse(reading, best)]
    youngest = min(reading.age_ms.p50 for reading in sound)
    limit_ms = max(youngest * (1 + AGE_SLACK), youngest + AGE_FLOOR_MS)
    return next(reading for reading in sound if reading.age_ms.p50 <= limit_ms)
