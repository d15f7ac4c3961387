"""The head of YOLOv7 exported with its suppression: rows of all pictures of the batch in one list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.decode.base import Candidates
from app.decode.boxes import Plane
from app.decode.rows import finished
from app.decode.tensors import said
from app.errors import BadOutput

_COLUMNS = 7


@dataclass(frozen=True, slots=True)
class YoloV7Rows:
    """Reads [N, 7]: sample of the batch, x1, y1, x2, y2, class, score; N is 0 where nothing was found.

    Attributes:
        output: the tensor's name.
    """

    output: str
    plane: Plane

    def candidates(self, outputs: Mapping[str, NDArray[Any]], min_score: float, sample: int = 0) -> Candidates:
        """Return the detections of one sample; see `Head`."""
        if self.output not in outputs:
            raise BadOutput(
                f"output {self.output!r} is missing; the engine gave {', '.join(map(repr, outputs)) or 'none'}"
            )
        rows = np.asarray(outputs[self.output], np.float32)
        layout = said(self.output, "yolov7_rows", rows.shape)
        if rows.size == 0:
            rows = np.empty((0, _COLUMNS), np.float32)
        if rows.shape[1:] != (_COLUMNS,):
            raise BadOutput(f"{layout}: instead of (N, {_COLUMNS}): check decode.family")
        # A row of no sample would be lost without a word; NaN fails this too.
        if not ((rows[:, 0] >= 0) & (rows[:, 0] == np.floor(rows[:, 0]))).all():
            raise BadOutput(f"{layout}: the first column is no sample of the batch: check decode.family")
        mine = rows[rows[:, 0] == sample]
        return finished(
            mine[:, 1:5], mine[:, 6], mine[:, 5], plane=self.plane, min_score=min_score, layout=layout, cap=None
        )
