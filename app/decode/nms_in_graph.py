"""The head of networks with suppression in their graph: a count, boxes, scores and classes, each an output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.decode.base import Candidates
from app.decode.boxes import Plane
from app.decode.rows import finished
from app.decode.tensors import said, sample_of
from app.errors import BadOutput


@dataclass(frozen=True, slots=True)
class NmsInGraph:
    """Reads [batch, 1], [batch, N, 4] corners, [batch, N], [batch, N]; rows past the count are padding.

    Attributes:
        boxes, scores, classes: the tensors' names.
        count: the name of the number of detections, or None where padding is told by scores of 0.
        cap: N, or None where it is open.
    """

    boxes: str
    scores: str
    classes: str
    count: str | None
    plane: Plane
    cap: int | None

    def candidates(self, outputs: Mapping[str, NDArray[Any]], min_score: float, sample: int = 0) -> Candidates:
        """Return the detections of one sample; see `Head`."""
        xyxy = sample_of(outputs, self.boxes, sample, (None, 4))
        layout = said(self.boxes, "nms_in_graph", outputs[self.boxes].shape)
        scores = sample_of(outputs, self.scores, sample, (len(xyxy),))
        classes = sample_of(outputs, self.classes, sample, (len(xyxy),))
        found = len(xyxy) if self.count is None else self._found(outputs, sample, len(xyxy))
        return finished(
            xyxy[:found],
            scores[:found],
            classes[:found],
            plane=self.plane,
            min_score=min_score,
            layout=layout,
            cap=self.cap,
        )

    def _found(self, outputs: Mapping[str, NDArray[Any]], sample: int, most: int) -> int:
        counts = outputs.get(str(self.count))
        if counts is None or sample >= counts.size:
            raise BadOutput(f"output {self.count!r} gives no number of detections for sample {sample}")
        found = float(np.ravel(counts)[sample])
        if not 0 <= found <= most:
            raise BadOutput(f"output {self.count!r}: {found:g} detections where {most} rows are there")
        return int(found)
