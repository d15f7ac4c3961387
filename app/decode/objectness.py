"""The score of heads with objectness: how surely something is there, times how surely it is of a class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.decode.scores import Best, passing, settled


def best_with_objectness(data_nc: NDArray[np.float32], classes: int, min_score: float, layout: str) -> Best:
    """Pick the candidates whose objectness times best class reaches a score.

    Args:
        data_nc: float32 (N, 5 + classes or more): four numbers of the box, objectness, classes.
        classes: how many class scores there are.
        min_score: least score; a score of 0 never passes.
        layout: says in an error how the tensor was read.

    Raises:
        BadOutput: any score, also one under the threshold, is not finite or outside 0 … 1.
    """
    objectness = settled(data_nc[:, 4], layout)
    of_classes = settled(data_nc[:, 5 : 5 + classes], layout)
    # A product is never above its factors, so most rows need no look at their classes.
    rows = np.flatnonzero(passing(objectness, min_score))
    likely = of_classes[rows]
    best = likely.argmax(axis=1)
    scores = objectness[rows] * likely[np.arange(len(rows)), best]
    kept = passing(scores, min_score)
    return Best(rows[kept], scores[kept], best[kept].astype(np.int64, copy=False))
