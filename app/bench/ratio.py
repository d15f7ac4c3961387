"""Times ways of doing the same thing side by side, so that only their ratio depends on the machine's mood."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import monotonic_ns
from typing import TypeAlias

Way: TypeAlias = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Timing:
    """How long one way took, over all its measured calls."""

    median_ms: float
    least_ms: float
    calls: int


def measure(
    ways: Mapping[str, Way], *, rounds: int, burst: int = 5, before: Callable[[], object] | None = None
) -> dict[str, Timing]:
    """Time every way in every round, each round beginning with another one.

    Other work on the machine then hits all of them alike. The garbage collector is off meanwhile.

    Args:
        ways: by name.
        rounds: how often all are visited.
        burst: calls measured at each visit, after one that is not, so that nobody pays for the caches that the way
            before left behind.
        before: done before each measured call and not counted, e.g. emptying the caches.
    """
    spent_ns: dict[str, list[int]] = {name: [] for name in ways}
    order = deque(ways)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name in order:
                spent_ns[name] += _burst(ways[name], burst, before)
            order.rotate(-1)
    finally:
        if collecting:
            gc.enable()
    return {name: Timing(median(spent) / 1e6, min(spent) / 1e6, len(spent)) for name, spent in spent_ns.items()}


def _burst(way: Way, calls: int, before: Callable[[], object] | None) -> list[int]:
    way()
    spent_ns = []
    for _ in range(calls):
        if before is not None:
            before()
        began_ns = monotonic_ns()
        way()
        spent_ns.append(monotonic_ns() - began_ns)
    return spent_ns
