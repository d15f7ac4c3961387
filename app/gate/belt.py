"""Follows parts along a belt by their boxes: which box is a part seen before, and which is a new one.

All positions are pixels along the belt's axis. Nothing is known beforehand but that all parts move together, that they
don't overlap, and that the belt seldom runs backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from app.gate.motion import NEAR, Motion, Move
from app.gate.sighting import Sighting

LOST_AFTER = 5
"""Frames in a row without a part after which it is gone, wherever the belt should have taken it."""

_BACK = 1 / 6  # share of a part's length that a box may lie behind where it was: noise, or a belt that settles
_LONG = 0.6  # share of the parts' distance: gone so far unseen, the next part may be where this one was


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
    """The parts in view.

    Times are any integers that grow with the belt's travel: nanoseconds, or a count of frames.

    Attributes:
        tracks: the parts in view.
        motion: how they move.
    """

    def __init__(self) -> None:
        self.tracks: list[Track] = []
        self.motion = Motion()
        self._time = 0
        self._numbers = count(1)

    def expected_px(self, track: Track, after: int = 0) -> float:
        """Return where a part should be now, or some time after now."""
        return track.at_px + self.motion.speed * (self._time - track.seen_at + after)

    def next_px(self, track: Track) -> float:
        """Return where a part should be in the next frame, if that comes as soon as frames do."""
        return self.expected_px(track, self.motion.frame_gap)

    def follow(self, sightings: Sequence[Sighting], time: int, picture_px: int) -> list[Track]:
        """Take what one frame shows; return the parts that are gone, `tracks` then holds the others.

        Args:
            sightings: at most one for each part.
            time: of the frame, later than that of the frame before.
            picture_px: size of the picture along the belt.
        """
        self._time = time
        self.motion.observe(sightings, time, picture_px)
        part_px = self.motion.part_px
        if part_px == 0:
            return []  # a box that is cut off tells where its part is only once the length of a part is known
        moves = self._match([(sighting, sighting.centre_px(part_px)) for sighting in sightings])
        if self.motion.lost_frames:
            self.motion.add(moves)
        gone = [track for track in self.tracks if self._is_gone(track, picture_px)]
        self.tracks = [track for track in self.tracks if track not in gone]
        return gone

    def _match(self, seen: list[tuple[Sighting, float]]) -> list[Move]:
        """Find the parts of the frame before, add the new ones; return how far and in what time the old ones moved."""
        pairs = [
            (abs(at_px - self.expected_px(track)), i, j)
            for i, (_, at_px) in enumerate(seen)
            for j, track in enumerate(self.tracks)
            if self._may_be(track, at_px)
        ]
        matched: dict[int, int] = {}
        for _, i, j in sorted(pairs):
            if i not in matched and j not in matched.values():
                matched[i] = j
        found = {j: seen[i] for i, j in matched.items()}
        moves = [self._advance(track, found.get(j)) for j, track in enumerate(self.tracks)]
        self.tracks += [
            Track(next(self._numbers), at_px, at_px, self._time, sighting)
            for i, (sighting, at_px) in enumerate(seen)
            if i not in matched
        ]
        return [move for move in moves if move is not None]

    def _may_be(self, track: Track, at_px: float) -> bool:
        """Tell whether a box may be this part; the nearest of those that may is taken.

        A part is never behind where it was, nor behind where it should be, unless the belt stopped. After a long gap
        "it stopped just then" is less likely than "this is the next part", so then only the expected place counts.
        """
        direction, spacing_px = self.motion.direction, self.motion.spacing_px
        if direction == 0:
            return abs(at_px - track.at_px) <= NEAR * spacing_px
        was, expected = direction * track.at_px, direction * self.expected_px(track)
        if abs(expected - was) > _LONG * spacing_px:
            return direction * at_px >= expected - spacing_px / 2
        return direction * at_px >= min(was, expected) - _BACK * self.motion.part_px

    def _advance(self, track: Track, found: tuple[Sighting, float] | None) -> Move | None:
        if found is None:
            track.now = None
            track.unseen += 1
            return None
        (track.now, at_px), was_px, was = found, track.at_px, track.seen_at
        track.at_px, track.seen_at, track.unseen = at_px, self._time, 0
        return at_px - was_px, self._time - was

    def _is_gone(self, track: Track, picture_px: int) -> bool:
        if track.now is not None:
            return False
        half_px = self.motion.part_px / 2
        outside = not -half_px < self.expected_px(track) < picture_px + half_px
        return outside or track.unseen >= LOST_AFTER
