"""The head of YOLOv8 and its kin: centre, size and one score per class, no objectness; either way round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.decode.base import Candidates
from app.decode.boxes import Plane, check_finite
from app.decode.scores import Best, best_of_classes
from app.decode.tensors import said, sample_of
from app.errors import BadOutput


@dataclass(frozen=True, slots=True)
class YoloV8:
    """Reads [batch, 4 + classes, N], or [batch, N, 4 + classes].

    Attributes:
        output: the tensor's name.
        classes: how many class scores there are.
        rows: one row per candidate (the second form); None: the first form where the numbers fit it.
    """

    output: str
    classes: int
    plane: Plane
    rows: bool | None = None

    def candidates(self, outputs: Mapping[str, NDArray[Any]], min_score: float, sample: int = 0) -> Candidates:
        """Return the candidates of one sample; see `Head`."""
        data = sample_of(outputs, self.output, sample, (None, None))
        layout = said(self.output, "yolov8", outputs[self.output].shape)
        best, xyxy = read_dense(
            channels_first(data, 4 + self.classes, self.rows, layout), self.classes, self.plane, min_score, layout
        )
        return Candidates(xyxy, best.scores, best.classes)


def read_dense(
    data_cn: NDArray[np.float32], classes: int, plane: Plane, min_score: float, layout: str
) -> tuple[Best, NDArray[np.float32]]:
    """Read centre, size and classes; channels after the classes are left alone.

    Args:
        data_cn: float32 (4 + classes or more, N).
        classes: how many class scores there are.
        plane: of the coordinates.
        min_score: least score.
        layout: says in an error how the tensor was read.

    Returns:
        The best candidates and their corners, float32 (n, 4).

    Raises:
        BadOutput: a number can't be.
    """
    best = best_of_classes(data_cn[4 : 4 + classes], min_score, layout)
    check_finite(data_cn[:4], layout)
    return best, plane.centres(data_cn[:4, best.rows].T, layout)


def channels_first(data: NDArray[np.float32], channels: int, rows: bool | None, layout: str) -> NDArray[np.float32]:
    """Return a view (channels, N) of one sample that may lie either way round.

    Raises:
        BadOutput: neither axis is as long as there are channels.
    """
    if data.shape[0] == channels and not rows:
        return data
    if data.shape[1] == channels and rows is not False:
        columns: NDArray[np.float32] = data.T
        return columns
    raise BadOutput(f"{layout}: the file promised {channels} numbers for each candidate: check decode.family and names")
