"""The head of segmentation networks, for its boxes and classes; masks are not made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from app.decode.base import Candidates
from app.decode.boxes import Plane
from app.decode.tensors import said, sample_of
from app.decode.yolov8 import channels_first, read_dense


@dataclass(frozen=True, slots=True)
class Segment:
    """Reads [batch, 4 + classes + masks, N] either way round.

    Attributes:
        output: the tensor's name.
        classes: how many class scores there are.
        masks: how many mask coefficients follow them; they are any numbers and no scores.
        rows: as for `YoloV8`.
    """

    output: str
    classes: int
    masks: int
    plane: Plane
    rows: bool | None = None

    def candidates(self, outputs: Mapping[str, NDArray[Any]], min_score: float, sample: int = 0) -> Candidates:
        """Return the candidates of one sample; see `Head`."""
        data = sample_of(outputs, self.output, sample, (None, None))
        layout = said(self.output, "segment", outputs[self.output].shape)
        numbers = channels_first(data, 4 + self.classes + self.masks, self.rows, layout)
        best, xyxy = read_dense(numbers, self.classes, self.plane, min_score, layout)
        return Candidates(xyxy, best.scores, best.classes)
