"""Pieces of one object that regions cut apart, and which no look saw whole: found and put together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.refine.pool import Mask, Pool, Rows

MOST_PIECES = 500
"""The best so many are compared with one another; more is no picture but a fault."""

_MOSTLY = 0.5
"""Two pieces of which one lies so far in the other are one and the same."""

_SIDES = ((2, 0, 1), (3, 1, 0))
"""An edge that is cut off, the edge that goes on, and the axis along the cut: right to left, bottom to top."""


def joined(pool: Pool, rows: Rows, edge_px: float) -> list[Rows]:
    """Sort pieces into heaps of one object each, every heap best first.

    Two pieces of one group and of different regions are one object where one lies mostly in the other, or where they
    meet at the cut: one is cut off at its right and the other at its left, they touch there, and along the cut each
    has no better partner. So of two objects side by side on a border, each gets its own other half.
    """
    ranked = rows[np.argsort(-pool.scores[rows], kind="stable")]
    compared, rest = ranked[:MOST_PIECES], ranked[MOST_PIECES:]
    linked = _strangers(pool, compared) & (pool.shares(compared, compared) > _MOSTLY)
    for cut, on, along in _SIDES:
        linked |= _meeting(pool, compared, cut, on, along, edge_px)
    labels = _labels(linked | linked.T)
    return [compared[labels == label] for label in np.unique(labels)] + [rest[[index]] for index in range(len(rest))]


def _strangers(pool: Pool, rows: Rows) -> Mask:
    """Return bool (n, n): pairs of one group that different looks found."""
    sources = pool.sources[rows]
    strangers: Mask = pool.alike(rows, rows) & (sources[:, None] != sources)
    return strangers


def _meeting(pool: Pool, rows: Rows, cut: int, on: int, along: int, edge_px: float) -> Mask:
    """Return bool (n, n): the first of the pair goes on as the second, and no other fits either of them better."""
    edges, cuts = pool.edges[:, rows], pool.cut[rows]
    touch = edges[on] <= edges[cut][:, None] + np.float32(edge_px)
    further = (edges[on] > edges[on][:, None]) & (edges[cut] > edges[cut][:, None])
    facing = cuts[:, cut][:, None] & cuts[:, on] & touch & further & _strangers(pool, rows)
    low = np.maximum(edges[along][:, None], edges[along])
    high = np.minimum(edges[along + 2][:, None], edges[along + 2])
    fit: NDArray[np.float32] = np.where(facing, high - low, -np.inf)
    best: Mask = (fit == fit.max(axis=1, initial=-np.inf)[:, None]) & (fit == fit.max(axis=0, initial=-np.inf))
    best &= fit >= -np.float32(edge_px)
    return best


def _labels(linked: Mask) -> NDArray[np.intp]:
    """Return a number for each row, the same for all that hang together: the first row of their heap."""
    labels = np.arange(len(linked))
    near = linked | np.eye(len(linked), dtype=np.bool_)
    while len(labels):
        spread = np.where(near, labels, len(labels)).min(axis=1)
        if (spread == labels).all():
            break
        labels = spread
    return labels
