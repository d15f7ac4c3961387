"""Whether a graph gives what the same calls give one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import GpuError
from app.fused.lane import Lane

PICTURES = 2
"""Different ones on which a graph has to be right before it is used: one could be what was left from the warm-up."""

TOLERANCE = 1e-3
"""Of an output's largest number. Networks may add up in another order from run to run; old results are further off."""


class Proof:
    """Of one lane's graph, on pictures as they come."""

    def __init__(self) -> None:
        self._seen: dict[bool, set[int]] = {False: set(), True: set()}
        """Frames that went up, and such as were there already: what was right with the one says little of the other."""

    def add(self, lane: Lane) -> None:
        """Compare graph and calls on the frames that the lane looks at now; give the graph up if they differ."""
        if lane.graph is None:
            return
        expected = lane.snapshot(by_graph=False)
        try:
            fault = difference(expected, lane.snapshot(by_graph=True))
        except GpuError as error:
            fault = str(error)
        if fault is not None:
            lane.give_up(fault)
            return
        way = lane.frames.are_there
        self._seen[way].add(lane.frames.checksum())
        if len(self._seen[way]) >= PICTURES:
            lane.trust(way)


def difference(eager: Mapping[str, NDArray[Any]], replayed: Mapping[str, NDArray[Any]]) -> str | None:
    """Say where two runs differ, or None where they agree."""
    for name, expected in eager.items():
        if not _agree(expected, replayed[name]):
            return f"it gave other numbers than the calls one by one, in {name!r}"
    return None


def _agree(expected: NDArray[Any], got: NDArray[Any]) -> bool:
    if not np.issubdtype(expected.dtype, np.floating):
        return np.array_equal(got, expected)
    largest = float(np.nanmax(np.abs(expected.astype(np.float64)), initial=1e-6))
    # What is not a number agrees with nothing: poison that was left in place is none either.
    return np.allclose(got.astype(np.float64), expected.astype(np.float64), rtol=0, atol=TOLERANCE * largest)
