"""An engine that does preprocessing, inference and decoding in one launch on the GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.engine import Found, Look
from app.errors import ModelError
from app.fused.lane import Lane
from app.fused.lanes import Lanes
from app.fused.picture import Part, part_of


@dataclass(frozen=True, slots=True)
class Group:
    """Looks at parts of one frame, which go to the GPU together."""

    looks: tuple[Look, ...]
    parts: tuple[Part, ...]
    first: int


class FusedEngine:
    """Looks with one network on the GPU; see `Engine`.

    Args:
        name: of the model and its hash, for the label.
        lanes: what holds the network.
        most_parts: parts of one frame that the network takes at a time.
    """

    def __init__(self, name: str, lanes: Lanes, most_parts: int = 1) -> None:
        self._name = name
        self._lanes = lanes
        self._most_parts = most_parts

    @property
    def backend(self) -> Lanes:
        """What holds the network."""
        return self._lanes

    def label(self) -> str:
        """See `Engine`."""
        return f"{self._name}:{self._lanes.provider}"

    def look(self, looks: Sequence[Look]) -> list[Found]:
        """Look at pictures, and return what is in each, in their order; see `Engine`.

        While one frame is looked at, the next one goes up, where the lanes are paired.

        Raises:
            ModelError: it is not entered, or the GPU failed.
        """
        if not self._lanes.is_entered:
            raise ModelError(f"{self._name}: not loaded: enter the backend before it is asked to look")
        found: list[Found | None] = [None] * len(looks)
        under_way: list[tuple[Lane, Group]] = []
        for number, group in enumerate(groups(looks, self._most_parts)):
            lane = self._lanes.lane_for(group.parts[0], _places(len(group.looks)), number % self._lanes.turns)
            while lane.busy or len(under_way) >= self._lanes.turns:
                self._collect(under_way.pop(0), found)
            lane.start(group.looks, group.parts)
            under_way.append((lane, group))
        for waiting in under_way:
            self._collect(waiting, found)
        return [one for one in found if one is not None]

    def _collect(self, waiting: tuple[Lane, Group], found: list[Found | None]) -> None:
        lane, group = waiting
        found[group.first : group.first + len(group.looks)] = self._lanes.finish(lane)


def groups(looks: Sequence[Look], most: int) -> Iterator[Group]:
    """Put looks at parts of the same frame together, in their order, so many at most."""
    parts = [part_of(look.image) for look in looks]
    first = 0
    while first < len(looks):
        last = first + 1
        while last < len(looks) and last - first < most and parts[last].data is parts[first].data:
            last += 1
        yield Group(tuple(looks[first:last]), tuple(parts[first:last]), first)
        first = last


def _places(looks: int) -> int:
    """Return the places of the batch for so many looks: powers of two, so that there are few kinds of lanes."""
    return 1 << (looks - 1).bit_length()
