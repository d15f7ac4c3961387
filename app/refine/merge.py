"""What the first look and the second looks found, as one set of boxes: pure, and no box that nobody saw."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.config.sections import Refine
from app.detections import Detections
from app.refine.choose import Boxes, upright
from app.refine.pieces import joined
from app.refine.pool import COARSE, Look, Mask, Pool, Rows, cut_off, pool
from app.refine.region import Size

_MOSTLY = 0.5
"""A piece that lies so far in a whole box is a piece of that object; a box so far in another is the same find."""


_BLOCK = 128
"""Boxes compared with all others at a time: all pairs of thousands would be much memory."""


@dataclass(frozen=True, slots=True, eq=False)
class _Object:
    """One object of the result: the row whose box and class it has, and all rows that show it."""

    row: int
    rows: Rows


def to_frame(found: Detections, offset_xy: tuple[int, int]) -> Detections:
    """Move what was found in a crop to where it is in the picture, by the crop's left and top edge."""
    shift = np.array(offset_xy * 2, np.float32)
    return replace(found, xyxy=found.xyxy + shift)


def merge(
    coarse: Detections,
    looks: Sequence[Look],
    section: Refine,
    size_wh: Size,
    known: Collection[int] | None = None,
) -> Detections:
    """Make one set of boxes of all looks, best score first; equal scores stay in the order of the looks.

    - What the first look found in a region is replaced by what the second look found there, also by nothing, as far
      as the section's `clear` goes. What lies outside or only partly inside stays.
    - Of an object that several looks saw, one box stays: a whole one before one that its region cut off, a second
      look's before the first look's, then the best score. It gets the best score of them.
    - What regions cut apart and nobody saw whole is put together. A piece without another stays as it is.

    Boxes that one and the same look found never suppress one another: that look's own suppression let them be.

    Args:
        coarse: what the first look found.
        looks: the second looks in the order in which they were made.
        section: the thresholds.
        size_wh: of the picture.
        known: the classes that the second look can find; None: all. Others are not replaced.
    """
    if not looks:
        return coarse
    coarse = coarse.where(_still(coarse, looks, section, size_wh, known))
    candidates = pool(coarse, looks, size_wh, section.merge)
    objects = _objects(candidates, section)
    return _result([coarse, *(look.found for look in looks)], candidates, objects, section)


def _still(
    coarse: Detections, looks: Sequence[Look], section: Refine, size_wh: Size, known: Collection[int] | None
) -> Mask:
    """Return bool (n,): which of the first look's finds still count."""
    clearable = coarse.scores < np.float32({"uncertain": section.uncertain[1], "all": 2, "none": -1}[section.clear])
    ours = np.ones(len(coarse), np.bool_) if known is None else np.isin(coarse.classes, list(known))
    gone, doubted, partly = np.zeros((3, len(coarse)), np.bool_)
    for look in looks:
        both = pool(coarse, [look], size_wh, section.merge)
        # Outside a region is beyond its edge, and that counts as cut off.
        inside = ours & ~cut_off(upright(coarse), look.region, size_wh, section.merge.edge_px).any(axis=1)
        whole, piece = _found_again(both, section)
        gone |= inside & whole
        partly |= piece
        doubted |= inside & clearable
    # Where only a piece was found again, the first look's box is the better one.
    return ~(gone | (doubted & ~partly))


def _found_again(both: Pool, section: Refine) -> tuple[Mask, Mask]:
    """Say of the first look's finds whether a second look found them again, whole and in pieces.

    That is: something of the group that lies mostly there, or anything just there.
    """
    ours, theirs = np.flatnonzero(both.sources == COARSE), np.flatnonzero(both.sources != COARSE)
    again = (both.shares(ours, theirs) > _MOSTLY) & both.alike(ours, theirs)
    again |= both.ious(ours, theirs) > section.merge.iou
    pieces = both.pieces[theirs]
    return np.logical_or.reduce(again[:, ~pieces], axis=1), np.logical_or.reduce(again[:, pieces], axis=1)


def _objects(candidates: Pool, section: Refine) -> list[_Object]:
    """Return every object once."""
    pieces, taken = candidates.pieces, np.zeros(len(candidates.scores), np.bool_)
    whole = np.flatnonzero(~pieces)
    first_look = candidates.sources[whole] == COARSE
    order = whole[np.lexsort((-candidates.scores[whole], first_look))]
    objects = []
    for begin in range(0, len(order), _BLOCK):
        block = order[begin : begin + _BLOCK]
        for row, same in zip(block.tolist(), _same_objects(candidates, block, section), strict=True):
            if not taken[row]:
                rows = np.flatnonzero(same & ~taken)
                taken[rows] = True
                objects.append(_Object(row, rows))
    heaps = joined(candidates, np.flatnonzero(pieces & ~taken), section.merge.edge_px)
    return objects + [_Object(int(heap[0]), heap) for heap in heaps]


def _same_objects(candidates: Pool, rows: Rows, section: Refine) -> Mask:
    """Return bool (len(rows), n): which of all candidates show the same object as a whole box, itself among them."""
    every = np.arange(len(candidates.scores))
    same = candidates.ious(rows, every) > section.merge.iou
    same |= candidates.pieces & (candidates.shares(rows, every) > _MOSTLY)
    same &= candidates.alike(rows, every) & (candidates.sources[rows][:, None] != candidates.sources)
    same[np.arange(len(rows)), rows] = True
    return same


def _result(parts: list[Detections], candidates: Pool, objects: list[_Object], section: Refine) -> Detections:
    rows = np.array([found.row for found in objects], np.intp)
    scores = np.array([candidates.scores[found.rows].max() for found in objects], np.float32)
    xyxy = np.concatenate([part.xyxy for part in parts])[rows].reshape(-1, 4)
    angles = _angles(parts)
    if angles is None:
        for index, found in enumerate(objects):
            if len(found.rows) > 1:
                xyxy[index] = _box(candidates, found, section)
    order = np.lexsort((rows, -scores))
    return Detections(
        xyxy[order],
        scores[order],
        np.concatenate([part.classes for part in parts])[rows[order]],
        max((part.names for part in parts), key=len),
        None if angles is None else angles[rows[order]],
        any(part.truncated for part in parts),
        any(part.saturated for part in parts),
        sum(part.dropped_outside for part in parts),
    )


def _box(candidates: Pool, found: _Object, section: Refine) -> Boxes:
    """Return the four edges of one object."""
    if candidates.pieces[found.row]:
        low, high = candidates.edges[:2, found.rows].min(axis=1), candidates.edges[2:, found.rows].max(axis=1)
        return np.concatenate([low, high])
    own = candidates.edges[:, found.row]
    if section.merge.mode == "best" or candidates.sources[found.row] == COARSE:
        return own
    equals = found.rows[~candidates.pieces[found.rows] & (candidates.sources[found.rows] != COARSE)]
    mean: Boxes = np.average(candidates.edges[:, equals], axis=1, weights=candidates.scores[equals]).astype(np.float32)
    return mean


def _angles(parts: list[Detections]) -> NDArray[np.float32] | None:
    """Return the angles of all rows, or None where boxes are upright; rotated ones are picked, never averaged."""
    if all(part.angles_rad is None for part in parts):
        return None
    return np.concatenate([np.zeros(len(p), np.float32) if p.angles_rad is None else p.angles_rad for p in parts])
