"""Which candidates score enough, and whether the scores can be scores at all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.errors import BadOutput

SLACK = 1e-3
"""How far a score may lie outside 0 … 1 (rounding of small number formats) before it counts as impossible."""

MAX_CLASS = 65535

_ONE_BITS = int(np.float32(1.0).view(np.uint32))


class Best(NamedTuple):
    """The candidates over the threshold with their best class."""

    rows: NDArray[np.intp]
    scores: NDArray[np.float32]
    classes: NDArray[np.int64]


def best_of_classes(scores_cn: NDArray[np.float32], min_score: float, layout: str) -> Best:
    """Pick the candidates whose best class reaches a score.

    Args:
        scores_cn: float32 (classes, candidates), any strides; read only.
        min_score: least score; a score of 0 never passes.
        layout: says in an error how the tensor was read.

    Raises:
        BadOutput: any score, also one under the threshold, is not finite or outside 0 … 1.
    """
    if scores_cn.shape[1] == 0:
        return Best(np.empty(0, np.intp), np.empty(0, np.float32), np.empty(0, np.int64))
    # Bits of floats from 0 to 1 sort as the floats do, and those of negative numbers, NaN, infinity and anything over 1
    # sort above them. So one pass over the integers finds the best score and proves that all of them can be scores.
    bits = np.maximum.reduce(scores_cn.view(np.uint32), axis=0)
    if int(bits.max()) > _ONE_BITS:
        scores_cn = settled(scores_cn, layout)
        bits = np.maximum.reduce(scores_cn.view(np.uint32), axis=0)
    peaks = bits.view(np.float32)
    rows = np.flatnonzero(passing(peaks, min_score))
    classes = scores_cn[:, rows].argmax(axis=0).astype(np.int64, copy=False)
    return Best(rows, peaks[rows], classes)


def passing(scores: NDArray[np.float32], min_score: float) -> NDArray[np.bool_]:
    """Return bool (n,): at least the threshold and not 0, which is padding and no detection."""
    passed: NDArray[np.bool_] = (scores >= np.float32(min_score)) & (scores > 0)
    return passed


def settled(scores: NDArray[np.float32], layout: str) -> NDArray[np.float32]:
    """Return the scores themselves, or clipped to 0 … 1 where rounding took them a little outside.

    Raises:
        BadOutput: one is not finite or further outside.
    """
    if scores.size == 0 or int(scores.view(np.uint32).max()) <= _ONE_BITS:
        return scores
    low, high = float(scores.min()), float(scores.max())
    if not (low >= -SLACK and high <= 1 + SLACK):
        worst = high if not high <= 1 + SLACK else low
        raise BadOutput(
            f"{layout}: a score of {worst:g} is not within 0 … 1; the tensor is probably laid out in another way "
            "(transposed, other family, raw scores): check decode.family and the export"
        )
    # Adding 0 turns -0.0 into 0.0, whose bits sort first.
    clipped: NDArray[np.float32] = np.clip(scores, np.float32(0), np.float32(1)) + np.float32(0)
    return clipped


def whole_classes(classes: NDArray[np.float32], layout: str) -> NDArray[np.int64]:
    """Return class numbers that a network gave as floats, as int64.

    Raises:
        BadOutput: one is not a whole number from 0 to 65,535.
    """
    # NaN and infinity fail the comparison, so that only numbers that fit are ever cast.
    ok = (classes >= 0) & (classes <= MAX_CLASS) & (classes == np.floor(classes))
    if not ok.all():
        worst = classes[np.argmin(ok)]
        raise BadOutput(
            f"{layout}: {worst:g} is no class number; the columns are probably in another order: check decode.family"
        )
    return classes.astype(np.int64)
