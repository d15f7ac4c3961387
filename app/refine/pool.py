"""All that was found in one picture, by all looks, as one set of arrays: with whose it is and where it is cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.boxes import areas, shared_areas
from app.config.sections import Merge
from app.detections import Detections
from app.refine.choose import Boxes, upright
from app.refine.region import Region, Size

Mask: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.intp]

COARSE = -1
"""The source of what the first look found; other sources are places in the list of second looks."""

_LEAST_PX2 = np.float32(1e-6)
"""Stands for an area of nothing, which nothing may be divided by."""


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What one second look found.

    Attributes:
        region: where it looked.
        found: in pixels of the picture.
    """

    region: Region
    found: Detections


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Candidates, the first look's before those of the second looks in their order.

    Attributes:
        edges: float32 (4, n): left, top, right, bottom.
        scores, groups: (n,) only boxes of one group can be one object: the class, or one number for all.
        sources: int64 (n,): `COARSE`, or which second look.
        cut: bool (n, 4): at which edges its own region cuts it off; the picture's edge cuts nothing off.
    """

    edges: Boxes
    scores: NDArray[np.float32]
    groups: NDArray[np.int64]
    sources: NDArray[np.int64]
    cut: Mask

    @property
    def pieces(self) -> Mask:
        """Bool (n,): what is cut off somewhere."""
        pieces: Mask = np.logical_or.reduce(self.cut, axis=1)
        return pieces

    def shares(self, a: Rows, b: Rows) -> NDArray[np.float32]:
        """Return float32 (len(a), len(b)): the part of the smaller box of each pair that lies in the other."""
        sizes_a, sizes_b = areas(self.edges[:, a])[:, None], areas(self.edges[:, b])
        shares: NDArray[np.float32] = self._common(a, b) / np.maximum(np.minimum(sizes_a, sizes_b), _LEAST_PX2)
        return shares

    def ious(self, a: Rows, b: Rows) -> NDArray[np.float32]:
        """Return float32 (len(a), len(b)): intersection over union of each pair."""
        sizes_a, sizes_b, common = areas(self.edges[:, a])[:, None], areas(self.edges[:, b]), self._common(a, b)
        ious: NDArray[np.float32] = common / np.maximum(sizes_a + sizes_b - common, _LEAST_PX2)
        return ious

    def alike(self, a: Rows, b: Rows) -> Mask:
        """Return bool (len(a), len(b)): which pairs are of one group."""
        alike: Mask = self.groups[a][:, None] == self.groups[b]
        return alike

    def _common(self, a: Rows, b: Rows) -> NDArray[np.float32]:
        return shared_areas(self.edges[:, a], self.edges[:, b])


def pool(coarse: Detections, looks: Sequence[Look], size_wh: Size, section: Merge) -> Pool:
    """Bring everything together."""
    parts = [coarse, *(look.found for look in looks)]
    cut = [cut_off(upright(look.found), look.region, size_wh, section.edge_px) for look in looks]
    classes = np.concatenate([part.classes for part in parts])
    return Pool(
        np.ascontiguousarray(np.concatenate([upright(part) for part in parts]).T),
        np.concatenate([part.scores for part in parts]),
        np.zeros_like(classes) if section.agnostic else classes,
        np.repeat(np.arange(COARSE, len(looks)), [len(part) for part in parts]),
        np.concatenate([np.zeros((len(coarse), 4), np.bool_), *cut]),
    )


def cut_off(xyxy: Boxes, region: Region, size_wh: Size, edge_px: float) -> Mask:
    """Return bool (n, 4): which edges of boxes lie at the region's edge or outside it, where it isn't the picture's."""
    left, top, right, bottom = region
    lowest = [edge + edge_px if edge > 0 else -np.inf for edge in (left, top)]
    highest = [edge - edge_px if edge < side else np.inf for edge, side in zip((right, bottom), size_wh, strict=True)]
    return np.concatenate([xyxy[:, :2] < lowest, xyxy[:, 2:] > highest], axis=1)
