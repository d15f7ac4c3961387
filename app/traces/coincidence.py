"""How often slow frames fell together with something that happened beside them, against how often that is chance."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median

from app.latency.trace_file import SystemEvent
from app.traces.timing import Timing

LABELS = {
    "gc": "garbage collection",
    "level": "change of the budget's level",
    "camera": "camera lost or opened",
    "throttle": "thermal throttling",
    "slow clock": "low clock speed",
}
NOT_A_CAUSE = {"clock", "gpu", "dropped", "verdict", "breach", "late", "alert"}
"""Kinds that say something about a frame or this file, not about what made a frame late."""

SLOW_CLOCK = 0.9
"""A clock below this share of its own median is slow."""
AFTER_NS = {"camera": 1_000_000_000, "level": 1_000_000_000}
"""Some events are over at once and are felt by the frames after them."""

TELLING_P = 0.01
TELLING_HITS = 2


@dataclass(frozen=True, slots=True)
class Coincidence:
    """One kind of event and the frames that it fell together with.

    Attributes:
        events: how many there were.
        slow: share of the slow frames during which one was going on, 0 … 1.
        normal: the same of all other frames.
        chance: the same of stretches as long as a slow frame, beginning where the other frames begin: what the slow
            frames would have if they were slow for another reason, since a longer frame meets more of everything.
        is_telling: it is far more often than chance gives.
    """

    kind: str
    events: int
    slow_hits: int
    slow: float
    normal: float
    chance: float
    is_telling: bool

    @property
    def label(self) -> str:
        """Its kind for a person."""
        return LABELS.get(self.kind, self.kind)


class Stretches:
    """Stretches of time that may overlap; tells whether any of them meets another one.

    Args:
        bounds_ns: begin and end of each.
    """

    def __init__(self, bounds_ns: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(bounds_ns)
        self._began_ns = [began_ns for began_ns, _ in ordered]
        self._reached_ns = list(accumulate((ended_ns for _, ended_ns in ordered), max))

    def meets(self, began_ns: int, ended_ns: int) -> bool:
        """Return whether one of them has a moment in common with this one."""
        before = bisect_right(self._began_ns, ended_ns)
        return before > 0 and self._reached_ns[before - 1] >= began_ns


def coincidences(
    slow: Sequence[Timing], normal: Sequence[Timing], events: Sequence[SystemEvent]
) -> tuple[Coincidence, ...]:
    """Return every kind of event with its shares, the most telling first."""
    kinds: defaultdict[str, list[SystemEvent]] = defaultdict(list)
    for event in (*events, *slow_clocks(events)):
        if event.kind not in NOT_A_CAUSE:
            kinds[event.kind].append(event)
    found = [_coincidence(kind, group, slow, normal) for kind, group in kinds.items()]
    return tuple(sorted(found, key=lambda one: (not one.is_telling, one.chance - one.slow, one.kind)))


def slow_clocks(events: Iterable[SystemEvent]) -> list[SystemEvent]:
    """Return the stretches in which the processor's clock was well below what it usually is."""
    clocks = [event for event in events if event.kind == "clock" and isinstance(event.data.get("mhz"), int | float)]
    if not clocks:
        return []
    usual = median(event.data["mhz"] for event in clocks)
    return [
        SystemEvent(kind="slow clock", text=event.text, began_ns=event.began_ns, ended_ns=event.ended_ns)
        for event in clocks
        if event.data["mhz"] < SLOW_CLOCK * usual
    ]


def _coincidence(
    kind: str, events: Sequence[SystemEvent], slow: Sequence[Timing], normal: Sequence[Timing]
) -> Coincidence:
    after_ns = AFTER_NS.get(kind, 0)
    cameras = {timing.camera for timing in (*slow, *normal)}
    stretches = {
        camera: Stretches((e.began_ns, e.ended_ns + after_ns) for e in events if e.camera in ("", camera))
        for camera in cameras
    }
    length_ns = int(median(timing.ended_ns - timing.began_ns for timing in slow))

    def hits(timings: Sequence[Timing], length_ns: int | None = None) -> int:
        return sum(
            stretches[t.camera].meets(t.began_ns, t.ended_ns if length_ns is None else t.began_ns + length_ns)
            for t in timings
        )

    slow_hits, chance = hits(slow), hits(normal, length_ns) / len(normal)
    return Coincidence(
        kind=kind,
        events=len(events),
        slow_hits=slow_hits,
        slow=slow_hits / len(slow),
        normal=hits(normal) / len(normal),
        chance=chance,
        is_telling=slow_hits >= TELLING_HITS and _at_least(slow_hits, len(slow), chance) < TELLING_P,
    )


def _at_least(hits: int, tries: int, chance: float) -> float:
    """Return the probability of so many hits or more, each with that chance; by logarithms, since tries may be many."""
    if not 0 < chance < 1:
        return float(hits == 0 or chance >= 1)

    def exactly(k: int) -> float:
        ways = math.lgamma(tries + 1) - math.lgamma(k + 1) - math.lgamma(tries - k + 1)
        return math.exp(ways + k * math.log(chance) + (tries - k) * math.log1p(-chance))

    return math.fsum(exactly(k) for k in range(hits, tries + 1))
