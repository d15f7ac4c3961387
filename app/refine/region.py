"""A region of the picture that one look takes in: where it lies, and how it covers what shall be looked at."""

from __future__ import annotations

import math
from typing import TypeAlias

Region: TypeAlias = tuple[int, int, int, int]
"""Left, top, right, bottom in whole pixels of the picture, right and bottom not included; always inside it."""

Size: TypeAlias = tuple[int, int]
"""Width and height in pixels."""


def grid(size_wh: Size, tile_wh: Size, overlap: float, area: Region | None = None) -> tuple[Region, ...]:
    """Cover an area with tiles of one size, row by row, as few as can be and evenly spread.

    All tiles are whole: the last ones are shifted in, so that none is a sliver and none reaches out of the picture.
    Where the area is smaller than a tile, the tile lies around its middle.

    Args:
        size_wh: of the picture; a tile is never larger.
        tile_wh: of one tile.
        overlap: least share of a tile, 0 … 0.9, that the next one repeats (to the pixel that rounding takes).
        area: what is covered, inside the picture; None: the whole picture.
    """
    left, top, right, bottom = area or (0, 0, *size_wh)
    width, height = (min(tile, side) for tile, side in zip(tile_wh, size_wh, strict=True))
    columns = _starts(left, right, width, overlap, size_wh[0])
    rows = _starts(top, bottom, height, overlap, size_wh[1])
    return tuple((x, y, x + width, y + height) for y in rows for x in columns)


def around(box: tuple[float, float, float, float], margin_px: float, size_wh: Size, tile_wh: Size) -> Region:
    """Return a tile around a box and its margin, larger in its own proportions where they need more than a tile.

    What reaches out of the picture is cut off; the tile is shifted in and never larger than the picture.
    """
    left, top, right, bottom = outward(box, margin_px, size_wh)
    grown = max((right - left) / tile_wh[0], (bottom - top) / tile_wh[1], 1.0)
    width, height = (min(math.ceil(tile * grown), side) for tile, side in zip(tile_wh, size_wh, strict=True))
    x, y = _centred(left, right, width, size_wh[0]), _centred(top, bottom, height, size_wh[1])
    return x, y, x + width, y + height


def outward(box: tuple[float, float, float, float], margin_px: float, size_wh: Size) -> Region:
    """Return the whole pixels of the picture that a box and its margin touch; empty where that is outside."""
    width, height = size_wh
    left, right = (min(max(edge, 0), width) for edge in (box[0] - margin_px, box[2] + margin_px))
    top, bottom = (min(max(edge, 0), height) for edge in (box[1] - margin_px, box[3] + margin_px))
    return math.floor(left), math.floor(top), math.ceil(right), math.ceil(bottom)


def held_share(inner: Region, outer: Region) -> float:
    """Return the share of the inner region's area, 0 … 1, that lies in the outer one; 0 for an empty one."""
    width = min(inner[2], outer[2]) - max(inner[0], outer[0])
    height = min(inner[3], outer[3]) - max(inner[1], outer[1])
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / ((inner[2] - inner[0]) * (inner[3] - inner[1]))


def _starts(begin: int, end: int, tile: int, overlap: float, side: int) -> list[int]:
    """Return where tiles begin along one axis, so that they cover begin … end."""
    if end - begin <= tile:
        return [_centred(begin, end, tile, side)]
    step = tile - min(math.ceil(tile * overlap), tile - 1)
    gaps = math.ceil((end - begin - tile) / step)
    return [begin + round(index * (end - begin - tile) / gaps) for index in range(gaps + 1)]


def _centred(begin: int, end: int, tile: int, side: int) -> int:
    """Return where a tile begins that holds begin … end in its middle, shifted to lie in 0 … side."""
    return min(max((begin + end - tile) // 2, 0), side - tile)
