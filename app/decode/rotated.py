"""How much rotated boxes overlap, and their suppression."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.config.sections import Nms
from app.decode.nms import Kept, Rows, suppress

_TINY = 1e-9


def rotated_nms(
    xyxy: NDArray[np.float32],
    angles_rad: NDArray[np.float32],
    scores: NDArray[np.float32],
    groups: NDArray[np.int64],
    section: Nms,
) -> Kept:
    """Suppress rotated boxes that overlap a better one of their group by more than the section's `iou`.

    Args:
        xyxy: float32 (n, 4), the boxes before they are turned about their centres.
        angles_rad: float32 (n,) clockwise.
        scores: float32 (n,), finite.
        groups: (n,) only boxes of one group suppress one another.
        section: as for `nms`.
    """
    centres = (xyxy[:, :2].astype(np.float64) + xyxy[:, 2:]) / 2
    spreads = _spreads(xyxy, angles_rad)

    def overlaps(a: Rows, b: Rows) -> NDArray[np.bool_]:
        close = _closeness(centres[a, None] - centres[b], spreads[:, a, None], spreads[:, None, b])
        same: NDArray[np.bool_] = groups[a, None] == groups[b]
        return (close > section.iou) & same

    return suppress(scores, overlaps, section)


def _spreads(xyxy: NDArray[np.float32], angles_rad: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return float64 (3, n): variance in x, in y, and covariance of a box's area about its centre."""
    sides = (xyxy[:, 2:].astype(np.float64) - xyxy[:, :2]) ** 2 / 12
    cos, sin = np.cos(angles_rad.astype(np.float64)), np.sin(angles_rad.astype(np.float64))
    width, height = sides[:, 0], sides[:, 1]
    return np.stack(
        [
            width * cos**2 + height * sin**2,
            width * sin**2 + height * cos**2,
            (width - height) * cos * sin,
        ]
    )


def _closeness(offsets: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 minus the Hellinger distance of two boxes seen as normal distributions; 1 for the same box.

    It stands in for intersection over union (ProbIoU, Llerena et al., 2021), as where such networks are trained: it
    needs no polygons and is exact about the angle.
    """
    x, y, both = a + b
    determinant = x * y - both**2 + _TINY
    dx, dy = offsets[..., 0], offsets[..., 1]
    distance = (x * dy**2 + y * dx**2 - 2 * both * dx * dy) / determinant / 4
    volume_a = np.maximum(a[0] * a[1] - a[2] ** 2, 0)
    volume_b = np.maximum(b[0] * b[1] - b[2] ** 2, 0)
    ratio = determinant / (4 * np.sqrt(volume_a * volume_b) + _TINY)
    bhattacharyya = np.clip(distance + np.log(np.maximum(ratio, _TINY)) / 2, 0, 100)
    closeness: NDArray[np.float64] = 1 - np.sqrt(1 - np.exp(-bhattacharyya))
    return closeness
