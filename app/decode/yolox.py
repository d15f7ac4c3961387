"""The head of YOLOX: offsets from grid cells and logarithms of sizes, with objectness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.decode.anchors import cell_count, locate
from app.decode.base import Candidates
from app.decode.boxes import Plane, check_finite
from app.decode.objectness import best_with_objectness
from app.decode.tensors import said, sample_of
from app.errors import BadOutput

_MOST_INPUTS = 16
"""No box is so many times larger than the input."""


@dataclass(frozen=True, slots=True)
class YoloX:
    """Reads [batch, N, 5 + classes], one row for each cell of the grids of stride 8, 16 and 32, not yet decoded.

    Attributes:
        output: the tensor's name.
        classes: how many class scores there are.
        input_wh: the network's input in pixels, which gives the grids.
    """

    output: str
    classes: int
    input_wh: tuple[int, int]

    def candidates(self, outputs: Mapping[str, NDArray[Any]], min_score: float, sample: int = 0) -> Candidates:
        """Return the candidates of one sample; see `Head`."""
        data = sample_of(outputs, self.output, sample, (cell_count(self.input_wh), 5 + self.classes))
        layout = said(self.output, "yolox", outputs[self.output].shape)
        best = best_with_objectness(data, self.classes, min_score, layout)
        check_finite(data[:, :4], layout)
        xywh = self._decode(best.rows, data[best.rows, :4], layout)
        return Candidates(Plane(self.input_wh).centres(xywh, layout), best.scores, best.classes)

    def _decode(self, rows: NDArray[np.intp], raw: NDArray[np.float32], layout: str) -> NDArray[np.float32]:
        cells = locate(rows, self.input_wh)
        side = max(self.input_wh)
        too_large = raw[:, 2:] > np.log(np.float32(_MOST_INPUTS * side) / cells.strides)
        too_far = np.abs(raw[:, :2]) > side / cells.strides + 1
        if too_large.any() or too_far.any():
            raise BadOutput(
                f"{layout}: numbers up to {float(raw.max()):g} are no offsets from grid cells; the network decodes its "
                "boxes itself: set decode.family to yolov5"
            )
        return np.concatenate(
            [(raw[:, :2] + cells.corners) * cells.strides, np.exp(raw[:, 2:]) * cells.strides], axis=1
        )
