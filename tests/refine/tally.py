"""Recall and precision by class, against a truth that is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.boxes import areas, shared_areas
from app.detections import Detections

Truth = Sequence[tuple[str, Sequence[float]]]
"""What is in one picture: name, and left, top, right, bottom in pixels."""


@dataclass
class Tally:
    """Hits, misses and inventions of one class."""

    hits: int = 0
    there: int = 0
    said: int = 0

    @property
    def recall(self) -> float:
        """The share of what is there that was found."""
        return self.hits / self.there

    @property
    def precision(self) -> float:
        """The share of what was said that is there; 1 where nothing was said."""
        return self.hits / self.said if self.said else 1.0

    def __str__(self) -> str:
        recall = f"{self.recall:.1%}" if self.there else "–"
        return f"{recall} / {self.precision:.1%}" if self.said else f"{recall} / –"

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.hits + other.hits, self.there + other.there, self.said + other.said)


def tallies(
    found: Iterable[Detections],
    truths: Iterable[Truth],
    names: Sequence[str],
    least: Mapping[str, float],
    ious: Mapping[str, float],
) -> dict[str, Tally]:
    """Count by class: each true object takes its best box, at a score of `least` (0.5) and an overlap of `ious` (0.5)."""
    result = {name: Tally() for name in names}
    for truth, seen in zip(truths, found, strict=True):
        for index, name in enumerate(names):
            boxes = seen.xyxy[(seen.classes == index) & (seen.scores >= np.float32(least.get(name, 0.5)))]
            true = np.array([box for there, box in truth if there == name], np.float32).reshape(-1, 4)
            result[name] += Tally(hits(boxes, true, ious.get(name, 0.5)), len(true), len(boxes))
    return result


def hits(boxes: np.ndarray, true: np.ndarray, iou: float) -> int:
    """How many true boxes are met, each by a box of its own."""
    a, b = np.ascontiguousarray(boxes.T), np.ascontiguousarray(true.T)
    common = shared_areas(a, b)
    ious = common / (areas(a)[:, None] + areas(b) - common)
    count = 0
    for row in ious:
        if row.size and row.max() >= iou:
            ious[:, row.argmax()] = 0
            count += 1
    return count


def together(tallied: Mapping[str, Tally]) -> Tally:
    """All classes as one."""
    return sum(tallied.values(), Tally())
