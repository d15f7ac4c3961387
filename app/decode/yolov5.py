"""The head of YOLOv5 and YOLOv7: centre, size, objectness, classes; one row per candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from app.decode.base import Candidates
from app.decode.boxes import Plane, check_finite
from app.decode.objectness import best_with_objectness
from app.decode.tensors import said, sample_of


@dataclass(frozen=True, slots=True)
class YoloV5:
    """Reads [batch, N, 5 + classes + masks].

    Attributes:
        output: the tensor's name.
        classes: how many class scores there are.
        masks: mask coefficients after them, which are not read.
    """

    output: str
    classes: int
    plane: Plane
    masks: int = 0

    def candidates(self, outputs: Mapping[str, NDArray[Any]], min_score: float, sample: int = 0) -> Candidates:
        """Return the candidates of one sample; see `Head`."""
        data = sample_of(outputs, self.output, sample, (None, 5 + self.classes + self.masks))
        layout = said(self.output, "yolov5", outputs[self.output].shape)
        best = best_with_objectness(data, self.classes, min_score, layout)
        check_finite(data[:, :4], layout)
        xyxy = self.plane.centres(data[best.rows, :4], layout)
        return Candidates(xyxy, best.scores, best.classes)
