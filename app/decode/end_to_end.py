"""The head of YOLOv10 and YOLO26 without suppression: finished rows, best first, padded with score 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from app.decode.base import Candidates
from app.decode.boxes import Plane
from app.decode.rows import finished
from app.decode.tensors import said, sample_of


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """Reads [batch, N, 6 + masks]: x1, y1, x2, y2, score, class.

    Attributes:
        output: the tensor's name.
        cap: N, or None where it is open.
        masks: mask coefficients after them, which are not read.
    """

    output: str
    plane: Plane
    cap: int | None
    masks: int = 0

    def candidates(self, outputs: Mapping[str, NDArray[Any]], min_score: float, sample: int = 0) -> Candidates:
        """Return the detections of one sample; see `Head`."""
        data = sample_of(outputs, self.output, sample, (None, 6 + self.masks))
        layout = said(self.output, "end_to_end", outputs[self.output].shape)
        return finished(
            data[:, :4], data[:, 4], data[:, 5], plane=self.plane, min_score=min_score, layout=layout, cap=self.cap
        )
