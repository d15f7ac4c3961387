"""Arithmetic on many boxes at once: areas, what pairs have in common, boxes around polygons."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def areas(edges: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return float32 (n,), the areas of boxes given by their edges (4, n): left, top, right, bottom."""
    found: NDArray[np.float32] = (edges[2] - edges[0]) * (edges[3] - edges[1])
    return found


def shared_areas(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return float32 (n, m), the areas that pairs of boxes have in common, from their edges (4, n) and (4, m)."""
    a = a[:, :, None]
    width = np.minimum(a[2], b[2]) - np.maximum(a[0], b[0])
    height = np.minimum(a[3], b[3]) - np.maximum(a[1], b[1])
    np.maximum(width, 0, out=width)
    np.maximum(height, 0, out=height)
    width *= height
    shared: NDArray[np.float32] = width
    return shared


def enclosing(corners: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the upright boxes (n, 4) around n polygons (n, corners, 2)."""
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
