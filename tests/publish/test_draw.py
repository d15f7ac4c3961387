"""An outcome drawn on its picture."""

import numpy as np
import pytest

from app.detections import Detections
from app.frame import NO_IMAGE
from app.publish.draw import COUNTED, DECISIVE, VERDICT_COLOURS, annotate
from app.verdict import Code, Reason, Verdict

IMAGE = np.full((480, 640, 3), 120, np.uint8)
REASON = Reason(Code.FORBIDDEN, "screw in Ofen-Tür, must not be there", (0,))


def has_colour(image, colour):
    return bool((image == np.array(colour, np.uint8)).all(axis=2).any())


@pytest.mark.parametrize("verdict", list(Verdict))
def test_the_banner_has_the_verdicts_colour_and_the_picture_stays_untouched(outcome, verdict):
    drawn = annotate(outcome(1, verdict, reasons=[REASON]), IMAGE)
    assert has_colour(drawn[:20], VERDICT_COLOURS[verdict])
    assert (IMAGE == 120).all()


def test_boxes_that_decided_stand_out(outcome):
    plain = annotate(outcome(1, Verdict.NG), IMAGE)
    decided = annotate(outcome(1, Verdict.NG, reasons=[REASON]), IMAGE)
    assert not has_colour(plain[-480:], DECISIVE)
    assert has_colour(decided[-480:], DECISIVE)
    counted = annotate(outcome(1, Verdict.NG, reasons=[Reason(Code.COUNT, "2 wanted", (0,))]), IMAGE)
    assert has_colour(counted[-480:], COUNTED)


@pytest.mark.parametrize(
    "image",
    [
        NO_IMAGE,  # it could not be decoded
        np.zeros((24, 32, 3), np.uint8),  # smaller than a word
        np.zeros((40, 3000, 3), np.uint8),  # a line camera's strip
    ],
)
def test_any_picture_can_be_drawn_on(outcome, image):
    reasons = [Reason(Code.TORN, "the picture is torn " * 20)] * 9
    drawn = annotate(outcome(1, Verdict.UNKNOWN, boxes=3, reasons=reasons, region_xyxy=(0.0, 0.0, 9.0, 9.0)), image)
    assert drawn.dtype == np.uint8
    assert drawn.shape[0] > image.shape[0]


def test_a_box_that_is_nowhere_is_left_out(outcome):
    boxes = np.array([[np.nan, 0, 1, 1], [-1e30, -5, 1e30, 1e9]], np.float32)
    found = Detections(boxes, np.ones(2, np.float32), np.zeros(2, np.int64), ("a",))
    drawn = annotate(outcome(1, Verdict.NG, detections=found, region_xyxy=(0.0, np.inf, 1.0, 1.0)), IMAGE)
    assert (drawn[-100:] == 120).all()
