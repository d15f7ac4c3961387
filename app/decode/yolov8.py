"""The head of YOLOv8 and its kin: centre, size and one score per class, no objectness; either way round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.decode.base import Candidates
from app.decode.boxes import Plane, check_finite
from app.decode.scores import best_of_classes
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
        layout = said(self.output, "yolov8", outputs[self.output].shape) if self.output in outputs else self.output
        data = channels_first(
            sample_of(outputs, self.output, sample, (None, None)), 4 + self.classes, self.rows, layout
        )
        best = best_of_classes(data[4:], min_score, layout)
        check_finite(data[:4], layout)
        xyxy = self.plane.centres(data[:4, best.rows].T, layout)
        return Candidates(xyxy, best.scores, best.classes)


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
    raise BadOutput(
        f"{layout}: no axis of {channels} (4 numbers of the box and the classes): check decode.family, names"
    )
