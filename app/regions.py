"""Regions of a picture: which boxes lie inside a polygon, borders included."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.config.sections import Membership, Region
from app.errors import ConfigError

BORDER_PX = 1e-3
"""How near the border counts as on it: float32 centres at 4000 pixels are no finer than this."""

_BORDER_SHARE = 1e-6
"""The same for shares of an area."""

Floats = NDArray[np.float64]


class RegionShape:
    """A simple polygon in pixels, turned so that its area is positive.

    Args:
        corners_xy: (n, 2) corners of a polygon that has an area and does not cross itself, in either direction.
    """

    def __init__(self, corners_xy: Floats) -> None:
        corners = np.asarray(corners_xy, np.float64)
        area = signed_area(corners)
        self.corners_xy: Floats = corners if area > 0 else corners[::-1].copy()
        self.area_px = abs(area)
        self.lost = 0.0
        """Share of the area that lies outside the picture, 0 … 1."""

    @classmethod
    def of(cls, region: Region, size_wh: tuple[int, int], name: str = "region") -> RegionShape:
        """Place a region of the configuration in a picture of that size.

        Raises:
            ConfigError: no part of it lies in the picture.
        """
        corners = np.asarray(region.polygon, np.float64)
        shape = cls(corners * np.asarray(size_wh) if region.unit == "fraction" else corners)
        inside = float(shape.areas_in(np.asarray([[0, 0, *size_wh]], np.float64))[0])
        shape.lost = min(max(1.0 - inside / shape.area_px, 0.0), 1.0)
        if shape.lost >= 1.0 - _BORDER_SHARE:
            raise ConfigError(
                f"regions.{name}: lies wholly outside the {size_wh[0]}×{size_wh[1]} picture; "
                "draw it for this picture size or use unit: fraction"
            )
        return shape

    @classmethod
    def box(cls, xyxy: tuple[float, float, float, float]) -> RegionShape:
        """Make a region of a box in pixels."""
        x1, y1, x2, y2 = xyxy
        return cls(np.asarray([[x1, y1], [x2, y1], [x2, y2], [x1, y2]], np.float64))

    def holds(self, xyxy: NDArray[np.float32], membership: Membership) -> NDArray[np.bool_]:
        """Return bool (n,): which of the float (n, 4) boxes are inside by that mode, border included."""
        if membership.mode == "centre":
            boxes = np.asarray(xyxy, np.float64).reshape(-1, 4)
            return self.holds_points((boxes[:, :2] + boxes[:, 2:]) / 2)
        return self.overlaps(xyxy) >= membership.overlap - _BORDER_SHARE

    def holds_points(self, points_xy: Floats) -> NDArray[np.bool_]:
        """Return bool (n,): which of the (n, 2) points lie inside or on the border."""
        points = np.asarray(points_xy, np.float64).reshape(-1, 1, 2)
        begin, end = self.corners_xy, np.roll(self.corners_xy, -1, axis=0)
        along = end - begin
        from_begin = points - begin
        cross = along[:, 0] * from_begin[..., 1] - along[:, 1] * from_begin[..., 0]
        upward = (begin[:, 1] <= points[..., 1]) & (points[..., 1] < end[:, 1])
        downward = (end[:, 1] <= points[..., 1]) & (points[..., 1] < begin[:, 1])
        winding = (upward & (cross > 0)).sum(axis=1) - (downward & (cross < 0)).sum(axis=1)
        nearest = np.clip((from_begin * along).sum(axis=2) / (along**2).sum(axis=1), 0.0, 1.0)
        distance = np.hypot(*np.moveaxis(from_begin - nearest[..., None] * along, 2, 0))
        inside: NDArray[np.bool_] = (winding != 0) | (distance <= BORDER_PX).any(axis=1)
        return inside

    def overlaps(self, xyxy: NDArray[np.float32]) -> Floats:
        """Return float64 (n,): the share of each box's area that lies inside; by its centre for a box without area."""
        boxes = np.asarray(xyxy, np.float64).reshape(-1, 4)
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        centres = self.holds_points((boxes[:, :2] + boxes[:, 2:]) / 2).astype(np.float64)
        return np.where(areas > 0, self.areas_in(boxes) / np.where(areas > 0, areas, 1.0), centres)

    def areas_in(self, xyxy: Floats) -> Floats:
        """Return float64 (n,): the area in pixels² that this polygon has in common with each box."""
        return np.asarray([abs(signed_area(_clipped(self.corners_xy, box))) for box in xyxy], np.float64)


def signed_area(corners_xy: Floats) -> float:
    """Return the area in pixels², positive where the corners turn from x towards y; 0 for fewer than three."""
    if len(corners_xy) == 0:
        return 0.0
    x, y = corners_xy[:, 0], corners_xy[:, 1]
    return float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum() / 2)


def _clipped(corners: Floats, box: Floats) -> Floats:
    """Cut a polygon by the four sides of a box (Sutherland and Hodgman); bridges of no area may be left in it."""
    for axis, bound, sign in ((0, box[0], 1.0), (1, box[1], 1.0), (0, box[2], -1.0), (1, box[3], -1.0)):
        if len(corners) == 0:
            break
        corners = _cut(corners, axis, float(bound), sign)
    return corners


def _cut(corners: Floats, axis: int, bound: float, sign: float) -> Floats:
    kept: list[Floats] = []
    before = corners[-1]
    for corner in corners:
        depth_before, depth = sign * (before[axis] - bound), sign * (corner[axis] - bound)
        if depth_before * depth < 0:
            kept.append(before + (corner - before) * (depth_before / (depth_before - depth)))
        if depth >= 0:
            kept.append(corner)
        before = corner
    return np.asarray(kept, np.float64).reshape(-1, 2)
