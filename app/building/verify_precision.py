"""Mean average precision as COCO defines it: how well detections fit labels, at all thresholds at once.

For one class and one IoU threshold t, detections of all pictures are taken best first; each takes the free label that
it overlaps most, if by t at least, and is right, else wrong. With p(r) the precision at recall r,

    AP_t = 1/101 · Σ_{r ∈ {0, 0.01, …, 1}} max_{r' ≥ r} p(r')

and mAP is the mean of AP_t over t ∈ {0.50, 0.55, …, 0.95} and over the classes that have a label (Lin et al., Microsoft
COCO: Common Objects in Context, 2014, and its evaluation: at most 100 detections a picture and class).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.agreement import Floats, ious
from app.detections import Detections

Labelled: TypeAlias = tuple[Detections, Detections]
"""What a look found in a picture, and what is labelled there."""

IOUS = np.linspace(0.5, 0.95, 10)
RECALLS = np.linspace(0.0, 1.0, 101)
MOST_OF_A_CLASS = 100  # detections in one picture
SCORE_FLOOR = 0.01
"""Detections below it are too many and too wrong to change anything."""


@dataclass(frozen=True, slots=True)
class Precision:
    """How well a look fits the labels.

    Attributes:
        mean: mAP over IoU 0.50 … 0.95.
        at_half: mAP at IoU 0.50.
        by_class: AP over IoU 0.50 … 0.95 of each class that has a label, by name.
        labels: how many there are.
    """

    mean: float
    at_half: float
    by_class: dict[str, float]
    labels: int


def precision_of(pictures: Sequence[Labelled]) -> Precision | None:
    """Return how well a look at pictures fits their labels; None where there is no label at all."""
    names = {int(index): label.name(row) for _, label in pictures for row, index in enumerate(label.classes)}
    if not names:
        return None
    table = {name: _average_precisions(index, pictures) for index, name in sorted(names.items())}
    return Precision(
        mean=float(np.mean([row.mean() for row in table.values()])),
        at_half=float(np.mean([row[0] for row in table.values()])),
        by_class={name: float(row.mean()) for name, row in table.items()},
        labels=sum(len(label) for _, label in pictures),
    )


def _average_precisions(index: int, pictures: Sequence[Labelled]) -> NDArray[np.float64]:
    """Return float64 (10,), the AP of one class at each IoU."""
    scores, hits, labels = [], [], 0
    for found, label in pictures:
        rows = np.flatnonzero(found.classes == index)
        rows = rows[np.argsort(-found.scores[rows], kind="stable")][:MOST_OF_A_CLASS]
        wanted = label.where(label.classes == index)
        shared = ious(found.where(rows), wanted)
        scores.append(found.scores[rows])
        hits.append(np.stack([_hits(shared, least) for least in IOUS]))
        labels += len(wanted)
    order = np.argsort(-np.concatenate(scores), kind="stable")
    right = np.concatenate(hits, axis=1)[:, order]
    return np.asarray([_area(row, labels) for row in right])


def _hits(shared: Floats, least: float) -> NDArray[np.bool_]:
    """Say of each detection (rows, best first) whether it takes a label (columns)."""
    right, taken = np.zeros(len(shared), np.bool_), np.zeros(shared.shape[1], np.bool_)
    for row, overlaps in enumerate(shared):
        free = np.where(taken, -1.0, overlaps)
        best = int(free.argmax()) if len(free) else 0
        if len(free) and free[best] >= least:
            right[row] = taken[best] = True
    return right


def _area(right: NDArray[np.bool_], labels: int) -> float:
    """Return the AP of detections that are right or wrong, best first."""
    if len(right) == 0:
        return 0.0
    found = np.cumsum(right)
    precision = found / np.arange(1, len(right) + 1)
    # The best precision at this recall or any higher one.
    best = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.searchsorted(found / labels, RECALLS, side="left")
    return float(np.append(best, 0.0)[np.minimum(at, len(best))].mean())
