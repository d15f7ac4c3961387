"""mAP against cases that can be worked out by hand; the numbers are what pycocotools gives for them."""

import numpy as np
import pytest

from app.building.verify_precision import precision_of
from app.detections import Detections

NAMES = ("screw", "scratch")
BOX, OTHER, FAR = (0, 0, 10, 10), (20, 0, 30, 10), (50, 50, 60, 60)


def found(*rows):
    """Detections from rows of score and corners, all of one class unless a third value names it."""
    return Detections(
        np.asarray([row[1] for row in rows], np.float32).reshape(-1, 4),
        np.asarray([row[0] for row in rows], np.float32),
        np.asarray([row[2] if len(row) > 2 else 0 for row in rows], np.int64),
        NAMES,
    )


def labels(*corners):
    return found(*((1.0, box) for box in corners))


def wide(share):
    """A box that overlaps BOX with this IoU, inside it."""
    return (0, 0, 10 * share, 10)


CASES = [
    # found exactly
    (found((0.9, BOX)), labels(BOX), 1.0, 1.0),
    # not found
    (found(), labels(BOX), 0.0, 0.0),
    # one of two found: recall 0 … 0.5 at precision 1, that is 51 of 101 points
    (found((0.9, BOX)), labels(BOX, OTHER), 51 / 101, 51 / 101),
    # a wrong one after the right one costs nothing
    (found((0.9, BOX), (0.5, FAR)), labels(BOX), 1.0, 1.0),
    # a wrong one before it halves the precision at every recall
    (found((0.9, FAR), (0.5, BOX)), labels(BOX), 0.5, 0.5),
    # right, wrong, right: precision 1 up to recall 0.5, then 2/3
    (found((0.9, BOX), (0.8, FAR), (0.7, OTHER)), labels(BOX, OTHER), (51 + 50 * 2 / 3) / 101, (51 + 50 * 2 / 3) / 101),
    # found twice: the second one is wrong
    (found((0.9, BOX), (0.8, BOX), (0.7, OTHER)), labels(BOX, OTHER), (51 + 50 * 2 / 3) / 101, (51 + 50 * 2 / 3) / 101),
    # IoU 0.72: right at 0.50, 0.55, 0.60, 0.65, 0.70, wrong at the other five
    (found((0.9, wide(0.72))), labels(BOX), 0.5, 1.0),
    # IoU of just 0.5 is enough for 0.5
    (found((0.9, wide(0.5))), labels(BOX), 0.1, 1.0),
]


@pytest.mark.parametrize(("look", "label", "mean", "at_half"), CASES)
def test_average_precision_is_what_the_formula_gives(look, label, mean, at_half):
    result = precision_of([(look, label)])
    assert (result.mean, result.at_half) == (pytest.approx(mean), pytest.approx(at_half))


def test_pictures_are_ranked_together():
    # The wrong one in the second picture has the best score of all, the right one in it the worst.
    pictures = [(found((0.8, BOX)), labels(BOX)), (found((0.9, FAR), (0.3, BOX)), labels(BOX))]
    assert precision_of(pictures).mean == pytest.approx(2 / 3)


def test_classes_count_alike_and_only_where_they_have_labels():
    one = found((0.9, BOX, 0), (0.9, FAR, 1)), found((1.0, BOX, 0))
    assert precision_of([one]).by_class == {"screw": pytest.approx(1.0)}
    two = found((0.9, BOX, 0)), found((1.0, BOX, 0), (1.0, OTHER, 1))
    assert precision_of([two]).by_class == {"screw": pytest.approx(1.0), "scratch": 0.0}
    assert precision_of([two]).mean == pytest.approx(0.5)


def test_at_most_a_hundred_of_a_class_in_a_picture_count():
    crowd = found(*((0.9, FAR) for _ in range(100)), (0.5, BOX))
    assert precision_of([(crowd, labels(BOX))]).mean == 0.0


def test_without_any_label_there_is_no_figure():
    assert precision_of([(found((0.9, BOX)), labels())]) is None
    assert precision_of([]) is None
