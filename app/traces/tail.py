"""Which stage makes the slowest frames slow, and what happened beside them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from app.errors import ConfigError
from app.latency.trace_file import SystemEvent
from app.trace import COLUMN_OF
from app.traces.coincidence import Coincidence, coincidences
from app.traces.timing import PARTS, Timing, went_whole_way

SLOW_SHARE = 0.01
LEAST_SLOW = 5
"""So many of the slowest are looked at where one percent is fewer."""
LEAST_FRAMES = 10
MAKES_THE_TAIL = 0.5
"""A stage with at least this share of the excess is named as the one that makes the tail."""


@dataclass(frozen=True, slots=True)
class Excess:
    """One stage in the slow frames against the others.

    Attributes:
        normal_ms: the median of the other frames.
        slow_ms: the median of the slow ones.
        excess_ms: how much longer than usual it took in the slow ones, mean; these add up over the stages.
        share: of all excess, 0 … 1; what was shorter than usual has none.
        made: in how many slow frames it was the stage that took most longer than usual.
        step: the step in it with the largest excess; empty where steps are not known.
    """

    part: str
    normal_ms: float
    slow_ms: float
    excess_ms: float
    share: float
    made: int
    step: str


@dataclass(frozen=True, slots=True)
class Tail:
    """The slowest frames against the others.

    Attributes:
        frames: how many were compared.
        left_out: frames that were not, because the engine did not look at them.
        slow: the slowest of them, worst first: by how much longer than usual for their camera they took.
        normal_ms, slow_ms: the medians of their totals.
        excesses: by stage, in the order of a frame's path.
        culprit: the stage with the largest share; None where no frame took longer than usual.
        found: what happened beside them, the most telling first.
    """

    frames: int
    left_out: int
    slow: tuple[Timing, ...]
    normal_ms: float
    slow_ms: float
    excesses: tuple[Excess, ...]
    culprit: Excess | None
    found: tuple[Coincidence, ...]

    @property
    def is_clear(self) -> bool:
        """Whether one stage alone makes the tail."""
        return self.culprit is not None and self.culprit.share >= MAKES_THE_TAIL


@dataclass(frozen=True, slots=True)
class _Usual:
    """What one camera's frames usually take."""

    total_ms: float
    parts_ms: Mapping[str, float]
    steps_ms: Mapping[str, float]


def tail_of(timings: Sequence[Timing], events: Sequence[SystemEvent]) -> Tail:
    """Compare the slowest one percent, five at least, with all others.

    Raises:
        ConfigError: there are fewer than ten frames.
    """
    given, timings = len(timings), went_whole_way(timings)
    if len(timings) < LEAST_FRAMES:
        few = f"{len(timings)} inspected frames are too few to tell slow ones from normal ones"
        raise ConfigError(f"{few}; trace {LEAST_FRAMES} or more")
    usual = {camera: _usual(group) for camera, group in _by_camera(timings).items()}
    count = slow_count(len(timings))
    ordered = sorted(timings, key=lambda timing: timing.total_ms - usual[timing.camera].total_ms, reverse=True)
    slow, normal = ordered[:count], ordered[count:]
    excesses = _excesses(slow, normal, usual)
    culprit = max(excesses, key=lambda excess: excess.excess_ms)
    return Tail(
        frames=len(timings),
        left_out=given - len(timings),
        slow=tuple(slow),
        normal_ms=median(timing.total_ms for timing in normal),
        slow_ms=median(timing.total_ms for timing in slow),
        excesses=excesses,
        culprit=culprit if culprit.excess_ms > 0 else None,
        found=coincidences(slow, normal, events),
    )


def slow_count(frames: int) -> int:
    """Return how many of so many frames are the slow ones: one percent, five at least, half at most, never none."""
    return max(1, min(max(LEAST_SLOW, math.ceil(SLOW_SHARE * frames)), frames // 2))


def _by_camera(timings: Sequence[Timing]) -> Mapping[str, list[Timing]]:
    groups: defaultdict[str, list[Timing]] = defaultdict(list)
    for timing in timings:
        groups[timing.camera].append(timing)
    return groups


def _usual(group: Sequence[Timing]) -> _Usual:
    steps = {step for timing in group for step in timing.steps_ms}
    return _Usual(
        total_ms=median(timing.total_ms for timing in group),
        parts_ms={part: median(timing.parts_ms[part] for timing in group) for part in PARTS},
        steps_ms={step: median(timing.steps_ms.get(step, 0.0) for timing in group) for step in steps},
    )


def _excesses(slow: Sequence[Timing], normal: Sequence[Timing], usual: Mapping[str, _Usual]) -> tuple[Excess, ...]:
    over = [{part: timing.parts_ms[part] - usual[timing.camera].parts_ms[part] for part in PARTS} for timing in slow]
    mean_ms = {part: fmean(row[part] for row in over) for part in PARTS}
    whole_ms = sum(max(0.0, spent) for spent in mean_ms.values())
    made = Counter(max(row, key=lambda part: row[part]) for row in over)
    return tuple(
        Excess(
            part=part,
            normal_ms=median(timing.parts_ms[part] for timing in normal),
            slow_ms=median(timing.parts_ms[part] for timing in slow),
            excess_ms=mean_ms[part],
            share=max(0.0, mean_ms[part]) / whole_ms if whole_ms else 0.0,
            made=made[part],
            step=_worst_step(part, slow, usual),
        )
        for part in PARTS
    )


def _worst_step(part: str, slow: Sequence[Timing], usual: Mapping[str, _Usual]) -> str:
    excess_ms: defaultdict[str, float] = defaultdict(float)
    for timing in slow:
        for step, spent_ms in timing.steps_ms.items():
            if COLUMN_OF.get(step) == part:
                excess_ms[step] += spent_ms - usual[timing.camera].steps_ms[step]
    return max(excess_ms, key=lambda step: excess_ms[step], default="")
