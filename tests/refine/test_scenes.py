"""Big pictures painted from small parts: what is said to be there is there, and the same seed paints the same."""

import numpy as np
import pytest

from tests.refine.scenes import BELT_GREY, Piece, scene

WHITE = Piece(np.full((80, 120, 3), 255, np.uint8), [("part", (20, 20, 100, 60))])
KEYS = {"size_wh": (800, 600), "cell_wh": (200, 150), "count": (4, 7), "scale": (0.5, 0.9)}


def overlap(a, b):
    return max(a[0], b[0]) < min(a[2], b[2]) and max(a[1], b[1]) < min(a[3], b[3])


@pytest.mark.parametrize("seed", range(5))
def test_parts_lie_where_the_truth_says_whole_and_none_on_another(seed):
    painted = scene([WHITE], seed, **KEYS)
    boxes = [[round(float(edge)) for edge in box] for _, box in painted.truth]
    assert 4 <= len(boxes) <= 7
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= 800
        assert 0 <= top < bottom <= 600
        assert painted.image[top:bottom, left:right].mean() > 250
    assert not any(overlap(a, b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert abs(float(np.median(painted.image)) - BELT_GREY) < 20


def test_same_seed_paints_the_same_and_another_one_something_else():
    first, again, other = (scene([WHITE], seed, **KEYS) for seed in (3, 3, 4))
    assert np.array_equal(first.image, again.image)
    assert [box.tolist() for _, box in first.truth] == [box.tolist() for _, box in again.truth]
    assert not np.array_equal(first.image, other.image)
