"""The least time that something can take: the bytes that it must move, by what the memory moves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.bench.ratio import Timing
from app.bench.row import Row
from app.frame import PixelFormat
from app.letterbox import Letterbox
from app.preprocess.resample import Filter, weights

SECTOR_BYTES = 32
"""What a GPU's memory gives at a time, however little of it is wanted."""

Touched = NDArray[np.bool_]


def picture_bytes(pixels: PixelFormat, letterbox: Letterbox, kind: Filter) -> int:
    """Return how many bytes of a frame have to be read to shrink it, in whole sectors.

    Linear leaves out rows, and columns where they lie further apart than a sector.
    """
    (width, height), (small_w, small_h) = letterbox.image_wh, letterbox.resized_wh
    columns, rows = _touched(width, small_w, kind), _touched(height, small_h, kind)
    if pixels.bayer:
        columns, rows = _with_neighbours(columns), _with_neighbours(rows)
    per_pixel = {PixelFormat.BGR8: 3, PixelFormat.YUYV: 2}.get(pixels, pixels.dtype.itemsize)
    row_bytes = _sectors(columns, per_pixel) * SECTOR_BYTES
    whole = int(rows.sum()) * row_bytes
    if pixels is PixelFormat.NV12:
        pairs = rows.reshape(-1, 2).any(axis=1)
        whole += int(pairs.sum()) * row_bytes
    return whole


def floor_row(part: str, what: str, timing: Timing, nbytes: int, gb_per_s: float, at_most: float | None) -> Row:
    """Return the row of a kernel: how many times as long as its bytes alone it takes."""
    floor_ms = nbytes / gb_per_s / 1e6
    ratio = timing.median_ms / floor_ms
    got = f"{ratio:.2f} × floor {floor_ms:.4f} ms"
    if at_most is None:
        return Row(part, what, timing.median_ms, timing.least_ms, got)
    return Row(part, what, timing.median_ms, timing.least_ms, got, f"≤ {at_most:g} ×", ratio <= at_most)


def _touched(pixels: int, small: int, kind: Filter) -> Touched:
    return np.asarray((weights(pixels, small, kind) > 0).any(axis=0), np.bool_)


def _with_neighbours(touched: Touched) -> Touched:
    return np.convolve(touched, np.ones(3), "same") > 0


def _sectors(columns: Touched, per_pixel: int) -> int:
    places = np.flatnonzero(np.repeat(columns, per_pixel))
    return len(np.unique(places // SECTOR_BYTES))
