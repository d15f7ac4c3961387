"""Outputs to detections in the picture."""

import numpy as np
import pytest

from app.config.sections import Nms
from app.decode.base import Candidates
from app.decode.boxes import Plane
from app.decode.decoder import Decoder
from app.decode.yolov8 import YoloV8
from app.detections import Detections
from app.errors import ConfigError
from app.letterbox import Letterbox, fit

SQUARE = fit((640, 640), (640, 640))


class Scripted:
    """A head that gives what the test says."""

    def __init__(self, *rows: tuple[tuple, float, int], **more: object) -> None:
        boxes, scores, classes = zip(*rows, strict=True) if rows else ((), (), ())
        self.found = Candidates(
            np.array(boxes, np.float32).reshape(-1, 4),
            np.array(scores, np.float32),
            np.array(classes, np.int64),
            **more,
        )

    def candidates(self, outputs: object, min_score: float, sample: int = 0) -> Candidates:
        return self.found


def decode(
    head: Scripted, letterbox: Letterbox = SQUARE, names: tuple = (), classes: int = 80, **nms: object
) -> Detections:
    return Decoder(head, Nms(**nms), names, classes).run({}, letterbox, 0.25)


def test_geo_02_pads_are_taken_from_the_axis_that_has_them(kbox_yolov8: np.ndarray) -> None:
    head = YoloV8("output0", 80, Plane((640, 640)))
    portrait = Decoder(head, Nms(), (), 80).run({"output0": kbox_yolov8}, fit((720, 1280), (640, 640)), 0.25)
    np.testing.assert_allclose(portrait.xyxy, [[260, 430, 460, 530]], atol=1e-3)


def test_geo_03_boxes_end_at_the_edge_of_the_picture() -> None:
    output = np.zeros((1, 84, 8400), np.float32)
    output[0, :4, 79], output[0, 4, 79] = (639, 10, 100, 100), 0.9
    found = Decoder(YoloV8("output0", 80, Plane((640, 640))), Nms(), (), 80).run({"output0": output}, SQUARE, 0.25)
    np.testing.assert_allclose(found.xyxy, [[589, 0, 640, 60]])


def test_geo_06_box_outside_the_picture_is_dropped_and_counted() -> None:
    found = decode(Scripted(((690, 690, 710, 710), 0.9, 0), ((10, 10, 20, 20), 0.8, 1)))
    assert (found.classes.tolist(), found.dropped_outside) == ([1], 1)


def test_box_in_the_padding_is_dropped_and_counted(landscape: Letterbox) -> None:
    found = decode(Scripted(((100, 20, 200, 120), 0.9, 0)), landscape)
    assert (len(found), found.dropped_outside) == (0, 1)


def test_detections_come_best_first() -> None:
    rows = [((x, 0, x + 10, 10), score, 0) for x, score in ((0, 0.3), (100, 0.9), (200, 0.6))]
    for final in (False, True):
        np.testing.assert_allclose(decode(Scripted(*rows, final=final)).scores, [0.9, 0.6, 0.3])


def test_nms_06_agnostic_is_applied_after_a_network_without_nms() -> None:
    rows = (((270, 215, 370, 265), 0.9, 3), ((270, 215, 370, 265), 0.8, 5))
    assert decode(Scripted(*rows, final=True)).classes.tolist() == [3, 5]
    assert decode(Scripted(*rows, final=True), agnostic=True).classes.tolist() == [3]


def test_nms_06_groups_are_applied_after_a_network_without_nms() -> None:
    rows = (((270, 215, 370, 265), 0.9, 0), ((270, 215, 370, 265), 0.8, 1), ((270, 215, 370, 265), 0.7, 2))
    found = decode(Scripted(*rows, final=True), names=("a", "b", "c"), classes=3, groups=[["a", "b"]])
    assert found.classes.tolist() == [0, 2]


def test_nms_07_cap_of_the_network_is_passed_on() -> None:
    assert decode(Scripted(((0, 0, 9, 9), 0.9, 0), saturated=True, final=True)).saturated


def test_nms_07_cap_of_the_configuration_is_flagged_for_networks_without_nms_too() -> None:
    rows = [((x, 0, x + 9, 9), 0.9, 0) for x in range(0, 50, 10)]
    found = decode(Scripted(*rows, final=True), max_boxes=4)
    assert (len(found), found.saturated) == (4, True)


def test_nms_03_truncation_reaches_the_detections() -> None:
    rows = [((x, 0, x + 9, 9), 0.9, 0) for x in range(0, 50, 10)]
    assert decode(Scripted(*rows), max_candidates=4).truncated


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (("a", "b", "c"), 4),  # one name too few
        ((), 4),  # no names at all
        (("a", "b", "c"), 0),  # a network that does not say how many classes it has
    ],
)
def test_mdl_08_class_without_a_name_gets_a_stand_in(names: tuple, classes: int) -> None:
    found = decode(Scripted(((0, 0, 9, 9), 0.9, 3)), names=names, classes=classes)
    assert found.name(0) == "class_3"


def test_group_of_unknown_class_is_refused_before_the_first_picture() -> None:
    with pytest.raises(ConfigError, match="no class 'skrew'"):
        Decoder(Scripted(), Nms(groups=[["skrew"]]), ("screw",), 1)


def test_rotated_boxes_are_dropped_by_their_corners_and_not_cut_off() -> None:
    rows = (((600, 300, 700, 310), 0.9, 0), ((645, 0, 745, 10), 0.8, 0))
    found = decode(Scripted(*rows, angles_rad=np.array([0.0, np.pi / 4], np.float32)))
    np.testing.assert_allclose(found.xyxy, [[600, 300, 700, 310]])
    assert found.dropped_outside == 1
    turned = decode(Scripted(((645, 300, 745, 310), 0.8, 0), angles_rad=np.array([0.0], np.float32)))
    assert turned.dropped_outside == 1
