"""Boxes, scores and classes of one picture as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """What a model found in one picture, best score first.

    Attributes:
        xyxy: float32 (n, 4), left, top, right, bottom in pixels of the picture. Coordinates are edges: 0 … width
            inclusive, so the last pixel inside is `ceil(x2) - 1`, and `x2 - x1` is a width.
        scores: float32 (n,), 0 … 1.
        classes: int64 (n,), index into `names`.
        names: the model's class names.
        angles_rad: float32 (n,) clockwise from the x axis in [-π/2, π/2) where the model gives rotated boxes, else
            None; `xyxy` then is the box before it was turned about its centre.
        truncated: more candidates passed the threshold than NMS may look at; the best were kept.
        saturated: the model or NMS gave as many boxes as it can, so that there may be more in the picture.
        dropped_outside: boxes left out because they lie outside the picture.
    """

    xyxy: NDArray[np.float32]
    scores: NDArray[np.float32]
    classes: NDArray[np.int64]
    names: tuple[str, ...]
    angles_rad: NDArray[np.float32] | None = None
    truncated: bool = False
    saturated: bool = False
    dropped_outside: int = 0

    def __post_init__(self) -> None:
        n = len(self.scores)
        if self.xyxy.shape != (n, 4):
            raise ValueError(f"xyxy: expected shape ({n}, 4) beside {n} scores, got {self.xyxy.shape}")
        if self.classes.shape != (n,):
            raise ValueError(f"classes: expected shape ({n},) beside {n} scores, got {self.classes.shape}")

    def __len__(self) -> int:
        return len(self.scores)

    @classmethod
    def none(cls, names: tuple[str, ...] = ()) -> Detections:
        """Return detections with no box in them."""
        return cls(np.empty((0, 4), np.float32), np.empty(0, np.float32), np.empty(0, np.int64), names)

    def name(self, row: int) -> str:
        """Return the class name of one row; `class_17` where the model gives none."""
        index = int(self.classes[row])
        return self.names[index] if 0 <= index < len(self.names) else f"class_{index}"

    def centres(self) -> NDArray[np.float32]:
        """Return float32 (n, 2), the x and y of every box's centre."""
        centres: NDArray[np.float32] = (self.xyxy[:, :2] + self.xyxy[:, 2:]) * np.float32(0.5)
        return centres

    def corners(self) -> NDArray[np.float32]:
        """Return float32 (n, 4, 2), the x and y of every box's corners, turned where the boxes are rotated.

        In the order they have before turning: top left, top right, bottom right, bottom left.
        """
        corners = self.xyxy[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 4, 2)
        if self.angles_rad is None:
            return corners
        cos, sin = np.cos(self.angles_rad)[:, None], np.sin(self.angles_rad)[:, None]
        centres = self.centres()[:, None]
        x, y = np.moveaxis(corners - centres, 2, 0)
        # The y axis points down, so this turns clockwise as seen.
        turned: NDArray[np.float32] = centres + np.stack([x * cos - y * sin, x * sin + y * cos], axis=2)
        return turned

    def where(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> Detections:
        """Return the rows that a mask or an index array picks, flags kept."""
        angles = None if self.angles_rad is None else self.angles_rad[keep]
        return Detections(
            self.xyxy[keep],
            self.scores[keep],
            self.classes[keep],
            self.names,
            angles,
            self.truncated,
            self.saturated,
            self.dropped_outside,
        )
