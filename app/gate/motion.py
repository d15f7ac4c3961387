"""How fast and where to the parts of a belt move, how long they are and how far apart: learned from their boxes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import TypeAlias

from app.gate.sighting import Sighting

Move: TypeAlias = tuple[float, int]
"""How many pixels, in what time."""

NEAR = 0.45
"""Share of the parts' distance: a box that moved less is nearer to where it was than to any other part."""

_MOVES = 8  # moves over which the speed is a mean: several, because boxes are unsteady
_FRAMES = 30  # frames among which the shortest interval is the camera's own, and the least distance the parts'
_VIEW = 0.75  # share of the picture: so far apart are parts of which no two were ever in view together
_SEEN = 1 / 6  # share of a part's length that tells the direction: more than the noise of two boxes
_CHANGED = 1 / 6  # share of a part's length by which one move differs from the mean where the belt stopped or started
_REVERSED = 1 / 2  # share of a part's length, against the known direction, that tells that it has changed


class Motion:
    """What all parts of one belt have in common.

    Speed and direction come from the boxes of two frames in a row, each taken with the one nearest to it. This does not
    ask which part is which, so that a wrong guess there can't make itself come true.

    Attributes:
        direction: +1 or -1 along the axis, 0 as long as it is not known.
        time: of the latest frame; any integer that grows with the belt's travel, None before the first.
    """

    def __init__(self) -> None:
        self.direction = 0
        self.time: int | None = None
        self._moves: deque[Move] = deque(maxlen=_MOVES)
        self._long_moves: deque[Move] = deque(maxlen=_MOVES)
        self._gaps: deque[int] = deque(maxlen=_FRAMES)
        self._lengths: deque[float] = deque(maxlen=_MOVES)
        self._spacings: deque[float] = deque(maxlen=_FRAMES)
        self._picture_px = 0
        self._before: Sequence[Sighting] = ()

    @property
    def part_px(self) -> float:
        """The length of a part; 0 where no whole one was seen yet."""
        return median(self._lengths) if self._lengths else 0.0

    @property
    def spacing_px(self) -> float:
        """How far apart the centres of two parts are at least, as far as seen."""
        return max(self.part_px, min(self._spacings) if self._spacings else _VIEW * self._picture_px)

    @property
    def frame_gap(self) -> int:
        """The shortest time between two frames; 0 before the second."""
        return min(self._gaps, default=0)

    @property
    def speed(self) -> float:
        """Pixels for each unit of time: the mean of the last moves, or the last one where it is clearly another."""
        moves = [*self._close_moves(), *self._long_moves]
        if not moves:
            return 0.0
        mean = sum(step for step, _ in moves) / sum(gap for _, gap in moves)
        step, gap = moves[-1]
        return step / gap if abs(step - mean * gap) > _CHANGED * self.part_px else mean

    @property
    def lost_frames(self) -> bool:
        """Whether frames were lost before the latest one."""
        return bool(self._gaps) and not self._is_close(self._gaps[-1])

    def observe(self, sightings: Sequence[Sighting], time: int, picture_px: int) -> None:
        """Take what one frame shows, at most one sighting for each part."""
        gap, self.time, self._picture_px = None if self.time is None else time - self.time, time, picture_px
        self._lengths.extend(sighting.length_px for sighting in sightings if sighting.whole)
        centres = sorted(sighting.centre_px(self.part_px) for sighting in sightings)
        if self._lengths:
            self._spacings.extend(high - low for low, high in pairwise(centres))
        if gap is not None:
            self._gaps.append(gap)
            self._measure(centres, gap)
        self._before = sightings

    def add(self, moves: Sequence[Move]) -> None:
        """Take the moves of parts that were found again after lost frames: all there is while no two come in a row."""
        if self.direction:
            self._long_moves.extend(moves)

    def _measure(self, centres: Sequence[float], gap: int) -> None:
        before = [sighting.centre_px(self.part_px) for sighting in self._before]
        if not before or not self._lengths:
            return
        if self._is_close(gap):
            self._long_moves.clear()
        steps = [min((at_px - was_px for was_px in before), key=abs) for at_px in centres]
        self._moves.extend((step, gap) for step in steps if abs(step) <= NEAR * self.spacing_px)
        self._learn_direction()

    def _learn_direction(self) -> None:
        moves = self._close_moves()
        moved_px = sum(step for step, _ in moves)
        if self.direction == 0 and len(moves) > 1 and abs(moved_px) > _SEEN * self.part_px:
            self.direction = 1 if moved_px > 0 else -1
        if moved_px * self.direction < -_REVERSED * self.part_px:
            self.direction = -self.direction

    def _close_moves(self) -> list[Move]:
        """Return the moves between frames with none lost between them: over a longer gap the nearest may be another."""
        return [(step, gap) for step, gap in self._moves if self._is_close(gap)]

    def _is_close(self, gap: int) -> bool:
        return gap <= 1.5 * self.frame_gap
