"""Follows parts along a belt by their boxes: which box is a part seen before, and which is a new one.

All positions are pixels along the belt's axis. Nothing is known beforehand but that all parts move together, that they
don't overlap, and that the belt seldom runs backward: its speed and direction are learned from the parts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from statistics import median
from typing import TypeAlias

Box: TypeAlias = tuple[float, float, float, float]

LOST_AFTER = 5
"""Frames in a row without a part after which it is gone, wherever the belt should have taken it."""

_STEPS = 8  # moves over which the speed is a mean: several, because boxes are unsteady
_GAPS = 30  # frames among which the shortest interval is the camera's own
_NEAR = 0.45  # share of the parts' distance: a box that moved less is nearer to where it was than to any other part
_VIEW = 0.75  # share of the picture: so far apart are parts of which no two were ever in view together
_BACK = 1 / 6  # share of a part's length that a box may lie behind where it was: noise, or a belt that settles
_SEEN_MOVE = 1 / 6  # share of a part's length that tells the direction: more than the noise of two boxes
_CHANGED = 1 / 6  # share of a part's length by which one move differs from the mean where the belt stopped or started
_REVERSED = 1 / 2  # share of a part's length, against the known direction, that tells that it has changed
_LONG = 0.6  # share of the parts' distance: gone so far unseen, the next part may be where this one was


@dataclass(frozen=True, slots=True)
class Sighting:
    """One box along the belt.

    Attributes:
        low_px, high_px: its two ends, clipped to the picture.
        whole: neither end is cut off by the picture.
        xyxy: the box in the picture.
    """

    low_px: float
    high_px: float
    cut_low: bool
    cut_high: bool
    xyxy: Box

    @property
    def whole(self) -> bool:
        """Whether the whole part is in the picture."""
        return not (self.cut_low or self.cut_high)

    @property
    def length_px(self) -> float:
        """What is seen of it along the belt."""
        return self.high_px - self.low_px

    def centre_px(self, part_px: float) -> float:
        """Return where the part's centre lies, by the end that is not cut off and the length of a whole part."""
        if self.cut_low and not self.cut_high:
            return self.high_px - part_px / 2
        if self.cut_high and not self.cut_low:
            return self.low_px + part_px / 2
        return (self.low_px + self.high_px) / 2


@dataclass(slots=True, eq=False)
class Track:
    """One part on its way.

    Attributes:
        born_px, at_px: where its centre was seen first and last.
        seen_at: the time of the last sighting.
        now: the last sighting if it was in the latest frame, else None.
        unseen: how many frames ago it was seen.
    """

    number: int
    born_px: float
    at_px: float
    seen_at: int
    now: Sighting | None
    unseen: int = 0


class Belt:
    """The parts in view, and how fast and where to they move.

    Times are any integers that grow with the belt's travel: nanoseconds, or a count of frames.

    Attributes:
        tracks: the parts in view.
        direction: +1 or -1 along the axis, 0 as long as it is not known.
    """

    def __init__(self) -> None:
        self.tracks: list[Track] = []
        self.direction = 0
        self._steps: deque[tuple[float, int]] = deque(maxlen=_STEPS)
        self._long_steps: deque[tuple[float, int]] = deque(maxlen=_STEPS)
        self._gaps: deque[int] = deque(maxlen=_GAPS)
        self._lengths: deque[float] = deque(maxlen=_STEPS)
        self._spacings: deque[float] = deque(maxlen=_GAPS)
        self._picture_px = 0
        self._before: Sequence[Sighting] = ()
        self._time: int | None = None
        self._numbers = count(1)

    @property
    def part_px(self) -> float | None:
        """The length of a part, or None where no whole one was seen yet."""
        return median(self._lengths) if self._lengths else None

    @property
    def speed(self) -> float:
        """Pixels for each unit of time: the mean of the last moves, or the last one where it is clearly another."""
        moves = [*self._moves(), *self._long_steps]
        if not moves:
            return 0.0
        mean = sum(step for step, _ in moves) / sum(gap for _, gap in moves)
        step, gap = moves[-1]
        return step / gap if abs(step - mean * gap) > _CHANGED * (self.part_px or 0.0) else mean

    @property
    def spacing_px(self) -> float:
        """How far apart the centres of two parts are at least, as far as seen."""
        part_px = self.part_px or 0.0
        return max(part_px, min(self._spacings)) if self._spacings else max(part_px, _VIEW * self._picture_px)

    def expected_px(self, track: Track, after: int = 0) -> float:
        """Return where a part should be now, or some time after now."""
        assert self._time is not None
        return track.at_px + self.speed * (self._time - track.seen_at + after)

    def next_px(self, track: Track) -> float:
        """Return where a part should be in the next frame, if that comes as soon as frames do."""
        return self.expected_px(track, min(self._gaps, default=0))

    def follow(self, sightings: Sequence[Sighting], time: int, picture_px: int) -> list[Track]:
        """Take what one frame shows; return the parts that are gone, `tracks` then holds the others.

        Args:
            sightings: at most one for each part.
            time: of the frame, later than that of the frame before.
            picture_px: size of the picture along the belt.
        """
        gap = None if self._time is None else time - self._time
        self._time = time
        self._lengths.extend(sighting.length_px for sighting in sightings if sighting.whole)
        part_px = self.part_px
        self._picture_px = picture_px
        if gap is not None:
            self._gaps.append(gap)
        if part_px is None:
            return []
        centres = sorted(sighting.centre_px(part_px) for sighting in sightings)
        self._spacings.extend(high - low for low, high in pairwise(centres))
        if gap is not None:
            self._measure(sightings, gap, part_px)
        self._before = sightings
        moves = self._match([(sighting, sighting.centre_px(part_px)) for sighting in sightings], part_px)
        if gap is not None and gap > self._longest_gap and self.direction:
            self._long_steps.extend(moves)
        gone = [track for track in self.tracks if self._is_gone(track, picture_px, part_px)]
        self.tracks = [track for track in self.tracks if track not in gone]
        return gone

    def _measure(self, sightings: Sequence[Sighting], gap: int, part_px: float) -> None:
        """Learn speed and direction from the boxes of two frames in a row, each with the one nearest to it.

        This does not ask which part is which, so that a wrong guess there can't make itself come true.
        """
        before = [sighting.centre_px(part_px) for sighting in self._before]
        if before and gap <= self._longest_gap:
            self._long_steps.clear()
        for sighting in sightings if before else ():
            at_px = sighting.centre_px(part_px)
            step_px = min((at_px - was_px for was_px in before), key=abs)
            if abs(step_px) <= _NEAR * self.spacing_px:
                self._steps.append((step_px, gap))
        moves = self._moves()
        moved_px = sum(step for step, _ in moves)
        if len(moves) > 1 and abs(moved_px) > _SEEN_MOVE * part_px and self.direction == 0:
            self.direction = 1 if moved_px > 0 else -1
        if moved_px * self.direction < -_REVERSED * part_px:
            self.direction = -self.direction

    def _moves(self) -> list[tuple[float, int]]:
        """Return the moves between frames with none lost between them: over a longer gap the nearest may be another."""
        longest = self._longest_gap
        return [(step, gap) for step, gap in self._steps if gap <= longest]

    @property
    def _longest_gap(self) -> float:
        """The longest time between two frames that have none lost between them."""
        return 1.5 * min(self._gaps, default=0)

    def _match(self, seen: list[tuple[Sighting, float]], part_px: float) -> list[tuple[float, int]]:
        """Find the parts of the frame before, add the new ones; return how far and in what time the old ones moved."""
        pairs = [
            (abs(at_px - self.expected_px(track)), i, j)
            for i, (_, at_px) in enumerate(seen)
            for j, track in enumerate(self.tracks)
            if self._may_be(track, at_px, part_px)
        ]
        matched: dict[int, int] = {}
        for _, i, j in sorted(pairs):
            if i not in matched and j not in matched.values():
                matched[i] = j
        found = {j: seen[i] for i, j in matched.items()}
        moves = [self._advance(track, found.get(j)) for j, track in enumerate(self.tracks)]
        assert self._time is not None
        self.tracks += [
            Track(next(self._numbers), at_px, at_px, self._time, sighting)
            for i, (sighting, at_px) in enumerate(seen)
            if i not in matched
        ]
        return [move for move in moves if move is not None]

    def _may_be(self, track: Track, at_px: float, part_px: float) -> bool:
        """Tell whether a box may be this part; the nearest of those that may is taken.

        A part is never behind where it was, nor behind where it should be, unless the belt stopped. After a long gap
        "it stopped just then" is less likely than "this is the next part", so then only the expected place counts.
        """
        if self.direction == 0:
            return abs(at_px - track.at_px) <= _NEAR * self.spacing_px
        was, expected = self.direction * track.at_px, self.direction * self.expected_px(track)
        if abs(expected - was) > _LONG * self.spacing_px:
            return self.direction * at_px >= expected - self.spacing_px / 2
        return self.direction * at_px >= min(was, expected) - _BACK * part_px

    def _advance(self, track: Track, found: tuple[Sighting, float] | None) -> tuple[float, int] | None:
        if found is None:
            track.now = None
            track.unseen += 1
            return None
        assert self._time is not None
        (track.now, at_px), was_px, was = found, track.at_px, track.seen_at
        track.at_px, track.seen_at, track.unseen = at_px, self._time, 0
        return at_px - was_px, self._time - was

    def _is_gone(self, track: Track, picture_px: int, part_px: float) -> bool:
        if track.now is not None:
            return False
        outside = not -part_px / 2 < self.expected_px(track) < picture_px + part_px / 2
        return outside or track.unseen >= LOST_AFTER
