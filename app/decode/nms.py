"""Non-maximum suppression: of boxes that overlap, the best one stays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.boxes import areas, shared_areas
from app.config.sections import Nms

Rows: TypeAlias = NDArray[np.intp]
Overlaps: TypeAlias = Callable[[Rows, Rows], NDArray[np.bool_]]
"""Rows a, rows b in; bool (len(a), len(b)) out: is the pair one object."""

_BLOCK = 128
"""Candidates compared at a time: all pairs of 2,000 would be 4 million, most of them for nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """What is left.

    Attributes:
        rows: indices of the boxes that stay, best score first, equal scores in the order they came.
        truncated: there were more candidates than are looked at; the best were.
        saturated: more boxes would have stayed than may.
    """

    rows: Rows
    truncated: bool
    saturated: bool


def nms(
    xyxy: NDArray[np.float32],
    scores: NDArray[np.float32],
    groups: NDArray[np.int64],
    section: Nms,
) -> Kept:
    """Suppress boxes that overlap a better one of their group by more than the section's `iou`.

    Args:
        xyxy: float32 (n, 4) corners, finite.
        scores: float32 (n,), finite.
        groups: (n,) only boxes of one group suppress one another: the class, or one number for all.
        section: intersection over union that means one object, and the bounds on the work and the result; passing
            one is flagged, never silent.
    """
    # Column by column, so that all pairs are compared along contiguous memory.
    edges = np.ascontiguousarray(xyxy.T)
    sizes = areas(edges)

    def overlaps(a: Rows, b: Rows) -> NDArray[np.bool_]:
        inside = shared_areas(edges[:, a], edges[:, b])
        union = sizes[a, None] + sizes[b] - inside
        same: NDArray[np.bool_] = groups[a, None] == groups[b]
        one: NDArray[np.bool_] = (inside > np.float32(section.iou) * union) & same
        return one

    return suppress(scores, overlaps, section)


def suppress(scores: NDArray[np.float32], overlaps: Overlaps, section: Nms) -> Kept:
    """Keep the best of every heap of candidates that are one object, whatever that means.

    Stops as soon as one box too many is found, so that thousands of boxes that overlap nothing cost no more than
    hundreds.
    """
    order = best_first(scores, section.max_candidates)
    kept: Rows = np.empty(0, np.intp)
    for begin in range(0, len(order), _BLOCK):
        block = order[begin : begin + _BLOCK]
        if len(kept):
            block = block[~overlaps(kept, block).any(axis=0)]
        kept = np.concatenate([kept, block[_survivors(overlaps(block, block))]])
        if len(kept) > section.max_boxes:
            break
    return Kept(
        kept[: section.max_boxes],
        truncated=len(scores) > section.max_candidates,
        saturated=len(kept) > section.max_boxes,
    )


def best_first(scores: NDArray[np.float32], most: int) -> Rows:
    """Return the rows of the best scores, best first; equal scores keep their order, also at the cut."""
    if len(scores) <= most:
        return np.argsort(-scores, kind="stable")
    last = np.partition(scores, len(scores) - most)[len(scores) - most]
    above = np.flatnonzero(scores > last)
    level = np.flatnonzero(scores == last)[: most - len(above)]
    rows = np.sort(np.concatenate([above, level]))
    return rows[np.argsort(-scores[rows], kind="stable")]


def _survivors(overlapping: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Go through one block, best first: who is alive suppresses whom it overlaps.

    Whoever is alive overlaps no better one that is, so the whole row may be cleared without looking who was first.
    """
    np.fill_diagonal(overlapping, False)
    alive = np.ones(len(overlapping), np.bool_)
    for row in np.flatnonzero(overlapping.any(axis=1)).tolist():
        if alive[row]:
            alive[overlapping[row]] = False
    return alive
