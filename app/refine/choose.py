"""Which regions are worth a second look, best first: pure, from what the first look found and the section says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.boxes import enclosing
from app.config.sections import Refine
from app.config.sections import Region as Shape
from app.detections import Detections
from app.refine.region import Region, Size, around, grid, held_share, outward

Boxes: TypeAlias = NDArray[np.float32]

_SAME = 0.9
"""So much of what a tile is for lies in a region chosen before: the tile adds nothing but a rim."""


def choose(
    coarse: Detections, section: Refine, size_wh: Size, shapes: Mapping[str, Shape] | None = None
) -> tuple[Region, ...]:
    """Return the regions to look at again, the most valuable first; whoever has time for fewer takes the first ones.

    Doubts come first, the likeliest before the others; then what is small, the smallest first; then the fixed regions
    in the section's order. Tiles of a grid come in the order of the likeliest doubt in them, then row by row. A region
    for something that an earlier one shows already is left out.

    Args:
        coarse: what the first look found, down to the least score that is a doubt.
        section: mode, sizes and thresholds.
        size_wh: of the picture.
        shapes: the camera's named regions.
    """
    boxes = upright(coarse)
    doubts = _doubts(boxes, coarse.scores, section)
    if section.mode == "grid":
        return _by_doubt(_tiles(_areas(boxes, coarse, section, size_wh), section, size_wh), boxes[doubts])
    regions = _around(boxes[doubts], section, size_wh)
    if section.mode == "regions":
        areas = (_bounds(shape, section, size_wh) for shape in _named(shapes or {}, section))
        regions = _tiles(areas, section, size_wh, regions)
    return tuple(regions)


def upright(detections: Detections) -> Boxes:
    """Return float32 (n, 4), the boxes; around the turned ones where they are rotated."""
    return detections.xyxy if detections.angles_rad is None else enclosing(detections.corners())


def _doubts(boxes: Boxes, scores: NDArray[np.float32], section: Refine) -> NDArray[np.intp]:
    """Return the rows to look at again: scores in doubt from the top, then small ones from the smallest."""
    low, high = np.asarray(section.uncertain, np.float32)
    sides = (boxes[:, 2:] - boxes[:, :2]).max(axis=1, initial=0)
    doubted = np.flatnonzero((scores >= low) & (scores < high))
    small = np.flatnonzero((scores >= high) & (sides < section.small_px))
    by_score = doubted[np.argsort(-scores[doubted], kind="stable")]
    return np.concatenate([by_score, small[np.argsort(sides[small], kind="stable")]])


def _around(boxes: Boxes, section: Refine, size_wh: Size) -> list[Region]:
    """Return a region for each box that no earlier region holds whole."""
    regions: list[Region] = []
    for left, top, right, bottom in boxes.tolist():
        wanted = outward((left, top, right, bottom), section.margin_px, size_wh)
        if not any(held_share(wanted, region) == 1 for region in regions):
            regions.append(around((left, top, right, bottom), section.margin_px, size_wh, section.tile_wh))
    return regions


def _tiles(areas: Iterable[Region], section: Refine, size_wh: Size, before: Iterable[Region] = ()) -> list[Region]:
    """Return what was chosen before and the tiles that the areas need besides."""
    regions = list(before)
    for area in areas:
        # Tiles of one area are never the same, and there may be hundreds.
        others = tuple(regions)
        tiles = grid(size_wh, section.tile_wh, section.overlap, area) if _has_pixels(area) else ()
        regions += (t for t in tiles if not any(held_share(_common(t, area), other) >= _SAME for other in others))
    return regions


def _has_pixels(area: Region) -> bool:
    return area[0] < area[2] and area[1] < area[3]


def _areas(boxes: Boxes, coarse: Detections, section: Refine, size_wh: Size) -> list[Region]:
    """Return what a grid covers: the boxes of its class that are no doubt; the whole picture where there is none."""
    rows = [
        row
        for row in np.flatnonzero(coarse.scores >= np.float32(section.uncertain[1])).tolist()
        if coarse.name(row) == section.within
    ]
    areas = [outward(tuple(boxes[row].tolist()), section.margin_px, size_wh) for row in rows]
    return areas or [(0, 0, *size_wh)]


def _named(shapes: Mapping[str, Shape], section: Refine) -> list[Shape]:
    return [shapes[name] for name in section.regions or shapes]


def _bounds(shape: Shape, section: Refine, size_wh: Size) -> Region:
    corners = np.asarray(shape.polygon, np.float64) * (size_wh if shape.unit == "fraction" else (1, 1))
    (left, top), (right, bottom) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    return outward((left, top, right, bottom), section.margin_px, size_wh)


def _common(a: Region, b: Region) -> Region:
    return max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])


def _by_doubt(tiles: list[Region], doubts: Boxes) -> tuple[Region, ...]:
    """Order tiles by the first doubt whose centre lies in them; those without one keep their order behind."""
    corners = np.array(tiles, np.float32).reshape(-1, 1, 4)
    centres = (doubts[:, :2] + doubts[:, 2:]) * np.float32(0.5)
    inside = ((corners[..., :2] <= centres) & (centres < corners[..., 2:])).all(axis=2)
    first = np.where(inside.any(axis=1), inside.argmax(axis=1) if len(doubts) else 0, len(doubts))
    return tuple(tiles[index] for index in np.argsort(first, kind="stable").tolist())
