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
    """Looks that go to the GPU together: at frames of one format and size, or at parts of them."""

    looks: tuple[Look, ...]
    parts: tuple[Part, ...]
    first: int

    def has_frames_of(self, other: Group) -> bool:
        """Whether both look at one and the same frame."""
        return all(part.data is self.parts[0].data for part in (*self.parts, *other.parts))


class FusedEngine:
    """Looks with one network on the GPU; see `Engine`.

    Args:
        name: of the model and its hash, for the label.
        lanes: what holds the network.
    """

    def __init__(self, name: str, lanes: Lanes) -> None:
        self._name = name
        self._lanes = lanes

    @property
    def backend(self) -> Lanes:
        """What holds the network."""
        return self._lanes

    @property
    def most(self) -> int:
        """See `Engine`."""
        return self._lanes.frames

    def label(self) -> str:
        """See `Engine`."""
        return f"{self._name}:{self._lanes.provider}"

    def look(self, looks: Sequence[Look]) -> list[Found]:
        """Look at pictures, and return what is in each, in their order; see `Engine`.

        While one frame is looked at, the next one goes up, where the lanes are paired. Where all looks are at parts of
        one frame it goes up once; where they look at it again, not even that, as long as a lane still has it. Then none
        goes up in a lane that has it already, so nothing is written to what another lane reads.

        Raises:
            ModelError: it is not entered, or the GPU failed.
        """
        if not self._lanes.is_entered:
            raise ModelError(f"{self._name}: not loaded: enter the backend before it is asked to look")
        self._lanes.begin(again=all(look.again for look in looks))
        asked = list(groups(looks, self._lanes.most))
        is_one_frame = len({id(part.data) for group in asked for part in group.parts}) == 1
        found: list[Found | None] = [None] * len(looks)
        under_way: list[tuple[Lane, Group]] = []
        last: dict[Lane, Group] = {}  # in this call: later a source may have written to its memory
        for number, group in enumerate(asked):
            turn = number % self._lanes.turns
            lane = self._lanes.ready(group.parts, turn)
            while under_way and (lane is None or len(under_way) >= self._lanes.turns):
                self._collect(under_way.pop(0), found)
            lane = lane or self._lanes.prepare(group.parts, turn)
            there = self._lanes.there(group.parts[0].data, lane) if is_one_frame else None
            again = lane in last and group.has_frames_of(last[lane])
            lane.start(group.looks, group.parts, again=again, there=there)
            if there is None:
                last[lane] = group
            under_way.append((lane, group))
        for waiting in under_way:
            self._collect(waiting, found)
        return [one for one in found if one is not None]

    def _collect(self, waiting: tuple[Lane, Group], found: list[Found | None]) -> None:
        lane, group = waiting
        found[group.first : group.first + len(group.looks)] = self._lanes.finish(lane)


def groups(looks: Sequence[Look], most: int) -> Iterator[Group]:
    """Put looks at frames of one format and size together, in their order, so many at most."""
    parts = [part_of(look.image) for look in looks]
    first = 0
    while first < len(looks):
        last = first + 1
        while last < len(looks) and last - first < most and _alike(parts[first], parts[last]):
            last += 1
        yield Group(tuple(looks[first:last]), tuple(parts[first:last]), first)
        first = last


def _alike(one: Part, other: Part) -> bool:
    return (one.format, one.whole_wh) == (other.format, other.whole_wh)
