"""Rows that a network gives as finished detections: columns in, candidates out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.decode.base import Candidates
from app.decode.boxes import Plane, check_finite
from app.decode.scores import passing, settled, whole_classes

SMALLEST_CAP = 100
"""Networks whose output has an open length stop at this many rows at the earliest; fewer are all that was found."""


def finished(
    xyxy: NDArray[np.float32],
    scores: NDArray[np.float32],
    classes: NDArray[np.float32],
    *,
    plane: Plane,
    min_score: float,
    layout: str,
    cap: int | None,
) -> Candidates:
    """Check and keep the rows of a network that has done its own suppression.

    Args:
        xyxy: float32 (n, 4).
        scores: float32 (n,); rows of score 0 are padding.
        classes: float32 (n,), whole numbers; anything in padding.
        plane: of the coordinates.
        min_score: least score.
        layout: says in an error how the tensor was read.
        cap: how many rows the network can give; None where its output's length is open.

    Raises:
        BadOutput: a number can't be.
    """
    scores = settled(scores, layout)
    check_finite(xyxy, layout)
    kept = passing(scores, min_score)
    full = len(scores) >= (SMALLEST_CAP if cap is None else max(cap, 1))
    return Candidates(
        plane.corners(xyxy[kept], layout),
        scores[kept],
        whole_classes(classes[kept], layout),
        final=True,
        saturated=full and bool(kept.all()),
    )
