"""The head of networks for rotated boxes: the angle is the last channel, in radians."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.decode.base import Candidates
from app.decode.boxes import Plane
from app.decode.tensors import said, sample_of
from app.decode.yolov8 import channels_first, read_dense
from app.errors import BadOutput


@dataclass(frozen=True, slots=True)
class Obb:
    """Reads [batch, 4 + classes + 1, N] either way round.

    The same box can be written as (w, h, θ) and as (h, w, θ + 90°). It is always given as w >= h and θ in [-π/2, π/2),
    clockwise as seen, from the picture's x axis to the long side.

    Attributes:
        output: the tensor's name.
        classes: how many class scores there are.
        rows: as for `YoloV8`.
    """

    output: str
    classes: int
    plane: Plane
    rows: bool | None = None

    def candidates(self, outputs: Mapping[str, NDArray[Any]], min_score: float, sample: int = 0) -> Candidates:
        """Return the candidates of one sample; see `Head`."""
        data = sample_of(outputs, self.output, sample, (None, None))
        layout = said(self.output, "obb", outputs[self.output].shape)
        numbers = channels_first(data, 4 + self.classes + 1, self.rows, layout)
        best, xyxy = read_dense(numbers, self.classes, self.plane, min_score, layout)
        angles = numbers[-1, best.rows]
        # Written so that NaN fails too.
        if len(angles) and not float(np.abs(angles).max()) <= 2 * math.pi:
            raise BadOutput(
                f"{layout}: an angle of {float(np.abs(angles).max()):g} rad; the last channel must hold radians: "
                "check decode.family and the export"
            )
        xyxy, angles = long_side_first(xyxy, angles)
        return Candidates(xyxy, best.scores, best.classes, angles)


def long_side_first(
    xyxy: NDArray[np.float32], angles_rad: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Write every rotated box in its one form: w >= h, angle in [-π/2, π/2).

    Args:
        xyxy: float32 (n, 4), the boxes before they are turned about their centres.
        angles_rad: float32 (n,) clockwise as seen.

    Returns:
        The same boxes, new arrays of the same shapes.
    """
    centres = (xyxy[:, :2] + xyxy[:, 2:]) * np.float32(0.5)
    halves = (xyxy[:, 2:] - xyxy[:, :2]) * np.float32(0.5)
    tall = halves[:, 1] > halves[:, 0]
    halves = np.where(tall[:, None], halves[:, ::-1], halves)
    # In double precision, because float32 rounds angles just under π/2 up to it.
    turned = angles_rad.astype(np.float64) + np.where(tall, math.pi / 2, 0)
    angles = ((turned + math.pi / 2) % math.pi - math.pi / 2).astype(np.float32)
    angles[angles >= np.float32(math.pi / 2)] = -math.pi / 2
    return np.concatenate([centres - halves, centres + halves], axis=1), angles
