"""The head of networks that give boxes and class scores in two outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from app.decode.base import Candidates
from app.decode.boxes import Plane, check_finite
from app.decode.scores import best_of_classes
from app.decode.tensors import said, sample_of


@dataclass(frozen=True, slots=True)
class TwoOutputs:
    """Reads [batch, N, 4] corners and [batch, N, classes].

    Attributes:
        boxes, scores: the tensors' names.
        classes: how many class scores there are.
    """

    boxes: str
    scores: str
    classes: int
    plane: Plane

    def candidates(self, outputs: Mapping[str, NDArray[Any]], min_score: float, sample: int = 0) -> Candidates:
        """Return the candidates of one sample; see `Head`."""
        xyxy = sample_of(outputs, self.boxes, sample, (None, 4))
        scores = sample_of(outputs, self.scores, sample, (len(xyxy), self.classes))
        best = best_of_classes(scores.T, min_score, said(self.scores, "two_outputs", outputs[self.scores].shape))
        layout = said(self.boxes, "two_outputs", outputs[self.boxes].shape)
        check_finite(xyxy, layout)
        return Candidates(self.plane.corners(xyxy[best.rows], layout), best.scores, best.classes)
