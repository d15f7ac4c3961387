"""One verdict per part of a moving line: of the frames that show a part whole, the one nearest the line is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from app.config.sections import Gate as GateSection
from app.detections import Detections
from app.errors import ConfigError
from app.gate.belt import Belt, Track
from app.gate.sighting import Box, Sighting

T = TypeVar("T")

_SAME = 0.5  # two boxes that share more than this of the shorter one, along the belt, are one part
_PATIENCE = 2  # frames without the first part after which waiting for a better view of it is over


@dataclass(frozen=True, slots=True, eq=False)
class Chosen(Generic[T]):
    """The frame in which one part is judged.

    Attributes:
        part: counts the judged parts from 1, in the order of the belt.
        region_xyxy: the part's box and the margin around it, within the picture.
        detections: all that this frame shows.
        payload: what was handed in with this frame.
    """

    part: int
    region_xyxy: Box
    detections: Detections
    payload: T


@dataclass(frozen=True, slots=True, eq=False)
class GateStep(Generic[T]):
    """What one frame settled: each payload handed in comes back once, either chosen or passed over.

    Attributes:
        missed: parts of which it is now known that they passed the line and were whole in no frame.
    """

    chosen: tuple[Chosen[T], ...] = ()
    passed: tuple[T, ...] = ()
    missed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate(Generic[T]):
    """The best frame of a part so far."""

    distance_px: float
    region_xyxy: Box
    detections: Detections
    payload: T


class Gate(Generic[T]):
    """Chooses one frame for each part; holds the payloads of parts that may still be seen better.

    Args:
        section: class, axis and line.
        names: the model's class names by index.
        min_score: boxes of the class below it are no part.
        every_frame: no frame is ever left out, so count frames instead of looking at their times (files, folders).

    Attributes:
        judged: parts chosen so far.
        missed: parts that passed the line and were whole in no frame.

    Raises:
        ConfigError: the model knows no such class.
    """

    def __init__(
        self, section: GateSection, names: tuple[str, ...], min_score: float = 0.0, every_frame: bool = False
    ) -> None:
        if section.cls not in names:
            known = ", ".join(names) or "none"
            raise ConfigError(f"gate.class: the model has no class {section.cls!r}; there are: {known}")
        self._section = section
        self._classes = [index for index, name in enumerate(names) if name == section.cls]
        self._min_score = min_score
        self._every_frame = every_frame
        self._axis = 0 if section.axis == "x" else 1
        self._belt = Belt()
        self._time = 0
        self._line_px = 0.0
        self._best: dict[int, _Candidate[T]] = {}
        self._decided: set[int] = set()
        self.judged = 0
        self.missed = 0

    def see(self, detections: Detections, size_wh: tuple[int, int], exposed_ns: int, payload: T) -> GateStep[T]:
        """Take one frame; return what it settles.

        Args:
            detections: of the whole frame, in pixels.
            size_wh: the picture's width and height in pixels.
            exposed_ns: when it was exposed, not earlier than the frame before.
            payload: comes back once, from this call or a later one.
        """
        self._time = self._time + 1 if self._every_frame else max(exposed_ns, self._time + 1)
        picture_px = size_wh[self._axis]
        self._line_px = self._section.line * picture_px
        gone = self._belt.follow(self._sightings(detections, size_wh), self._time, picture_px)
        passed = self._offer(detections, size_wh, payload)
        ready = [track for track in self._belt.tracks if self._is_ready(track, picture_px)]
        chosen = self._choose([*gone, *ready])
        missed_before = self.missed
        for track in gone:
            self._forget(track)
        return GateStep(chosen, passed, self.missed - missed_before)

    def flush(self) -> GateStep[T]:
        """Choose what is still held; no frame will follow."""
        chosen = self._choose(self._belt.tracks)
        for track in self._belt.tracks:
            self._forget(track)
        self._belt = Belt()
        return GateStep(chosen)

    def _sightings(self, detections: Detections, size_wh: tuple[int, int]) -> list[Sighting]:
        """Return one sighting for each part: the best of the boxes that lie on one another."""
        xyxy = detections.xyxy
        usable = np.isin(detections.classes, self._classes) & np.isfinite(xyxy).all(axis=1)
        usable &= detections.scores >= np.float32(self._min_score)
        found: list[Sighting] = []
        for row in sorted(np.flatnonzero(usable).tolist(), key=lambda row: -float(detections.scores[row])):
            sighting = self._sighting(tuple(xyxy[row].tolist()), size_wh[self._axis])
            if sighting.length_px > 0 and not any(_same(sighting, other) for other in found):
                found.append(sighting)
        return found

    def _sighting(self, box: Box, picture_px: int) -> Sighting:
        low, high = max(box[self._axis], 0.0), min(box[self._axis + 2], float(picture_px))
        edge_px = self._section.edge_px
        return Sighting(low, high, low < edge_px, high > picture_px - edge_px, box)

    def _offer(self, detections: Detections, size_wh: tuple[int, int], payload: T) -> tuple[T, ...]:
        """Keep the frame for the undecided whole part nearest the line; return the payloads that this sets free.

        A frame speaks for one part only, so that it has one verdict.
        """
        whole = [
            (abs(track.at_px - self._line_px), track, track.now)
            for track in self._belt.tracks
            if track.now is not None and track.now.whole and track.number not in self._decided
        ]
        if not whole:
            return (payload,)
        distance_px, track, sighting = min(whole, key=lambda candidate: candidate[0])
        best = self._best.get(track.number)
        # Of equal ones the newest is kept: a belt that stands still must not be judged on an old picture.
        if best is not None and best.distance_px < distance_px:
            return (payload,)
        self._best[track.number] = _Candidate(distance_px, self._region(sighting, size_wh), detections, payload)
        return () if best is None else (best.payload,)

    def _region(self, sighting: Sighting, size_wh: tuple[int, int]) -> Box:
        (x1, y1, x2, y2), margin = sighting.xyxy, self._section.margin_px
        width, height = size_wh
        return max(x1 - margin, 0.0), max(y1 - margin, 0.0), min(x2 + margin, width), min(y2 + margin, height)

    def _is_ready(self, track: Track, picture_px: int) -> bool:
        """Tell whether no later frame can show this part nearer the line than its best frame so far."""
        best = self._best.get(track.number)
        if best is None:
            return False
        direction = self._belt.motion.direction
        if direction == 0:
            return track.unseen >= _PATIENCE
        ahead_px = direction * (self._line_px - self._belt.expected_px(track))
        next_ahead_px = direction * (self._line_px - self._belt.next_px(track))
        if ahead_px <= 0 or -next_ahead_px > best.distance_px:
            return True
        end_px = self._belt.next_px(track) + direction * self._belt.motion.part_px / 2
        edge_px = self._section.edge_px
        leaves = end_px > picture_px - edge_px if direction > 0 else end_px < edge_px
        return leaves and next_ahead_px < ahead_px

    def _choose(self, ready: list[Track]) -> tuple[Chosen[T], ...]:
        """Decide these parts, and every part that is ahead of one of them."""
        held = [track for track in (*ready, *self._belt.tracks) if track.number in self._best]
        order = sorted(
            dict.fromkeys(held), key=lambda track: -self._belt.motion.direction * self._belt.expected_px(track)
        )
        last = max((order.index(track) for track in ready if track in order), default=-1)
        return tuple(self._decide(track) for track in order[: last + 1])

    def _decide(self, track: Track) -> Chosen[T]:
        best = self._best.pop(track.number)
        self._decided.add(track.number)
        self.judged += 1
        return Chosen(self.judged, best.region_xyxy, best.detections, best.payload)

    def _forget(self, track: Track) -> None:
        if track.number not in self._decided:
            ahead_px = [self._belt.motion.direction * (self._line_px - at_px) for at_px in (track.born_px, track.at_px)]
            self.missed += ahead_px[0] > 0 > ahead_px[1]
        self._decided.discard(track.number)


def _same(one: Sighting, other: Sighting) -> bool:
    shared_px = min(one.high_px, other.high_px) - max(one.low_px, other.low_px)
    return shared_px > _SAME * min(one.length_px, other.length_px)
