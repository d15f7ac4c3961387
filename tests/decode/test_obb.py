"""Rotated boxes: the angle is the last channel, in radians, and every box has one form."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.sections import Nms
from app.decode.boxes import Plane
from app.decode.decoder import Decoder
from app.decode.obb import Obb, long_side_first
from app.decode.rotated import rotated_nms
from app.detections import Detections
from app.errors import BadOutput
from app.letterbox import fit

HEAD = Obb("output0", 15, Plane((640, 640)))
SQUARE = fit((640, 640), (640, 640))


def output_with(*boxes: tuple[tuple[float, ...], int, float, float]) -> dict[str, np.ndarray]:
    """Raw candidates given as (cx, cy, w, h), class, score, angle."""
    output = np.zeros((1, 20, 8400), np.float32)
    for anchor, (xywh, cls, score, angle) in enumerate(boxes):
        output[0, :4, 100 + anchor] = xywh
        output[0, [4 + cls, 19], 100 + anchor] = score, angle
    return {"output0": output}


def test_dec_13_angle_is_no_class() -> None:
    found = HEAD.candidates(output_with(((320, 240, 100, 50), 3, 0.9, 1.2)), 0.25)
    assert found.classes.tolist() == [3]
    np.testing.assert_allclose(found.scores, [0.9])
    np.testing.assert_allclose(found.angles_rad, [1.2])


def corners(xywh: tuple[float, ...], angle: float) -> np.ndarray:
    """The polygon of one box in its one form, its corners in an order that does not depend on how it was written."""
    x, y, w, h = xywh
    upright = np.array([[x - w / 2, y - h / 2, x + w / 2, y + h / 2]], np.float32)
    xyxy, angles = long_side_first(upright, np.array([angle], np.float32))
    one = Detections(xyxy, np.ones(1, np.float32), np.zeros(1, np.int64), (), angles)
    polygon = one.corners()[0]
    around = np.arctan2(*(polygon - polygon.mean(axis=0)).T[::-1])
    return polygon[np.argsort(np.round(around, 2), kind="stable")]


@given(st.floats(20, 100), st.floats(20, 100), st.floats(-3, 3))
def test_dec_14_the_two_ways_to_write_a_box_have_the_same_corners(w: float, h: float, angle: float) -> None:
    one, other = corners((320, 240, w, h), angle), corners((320, 240, h, w), angle + math.pi / 2)
    distance = np.linalg.norm(one[:, None] - other[None], axis=2).min(axis=1)
    assert distance.max() < 0.01


@given(st.floats(1, 100), st.floats(1, 100), st.floats(-6, 6))
def test_dec_14_every_box_is_written_long_side_first_with_an_angle_in_range(w: float, h: float, angle: float) -> None:
    upright = np.array([[0, 0, w, h]], np.float32)
    xyxy, angles = long_side_first(upright, np.array([angle], np.float32))
    assert xyxy[0, 2] - xyxy[0, 0] >= xyxy[0, 3] - xyxy[0, 1] - 1e-4
    assert np.float32(-math.pi / 2) <= angles[0] < np.float32(math.pi / 2)


def test_dec_14_corners_turn_clockwise_as_seen() -> None:
    quarter = Detections(
        np.array([[0, 0, 20, 10]], np.float32),
        np.ones(1, np.float32),
        np.zeros(1, np.int64),
        (),
        np.array([math.pi / 2], np.float32),
    )
    np.testing.assert_allclose(quarter.corners()[0], [(15, -5), (15, 15), (5, 15), (5, -5)], atol=1e-5)


def test_dec_14_degrees_are_refused() -> None:
    with pytest.raises(BadOutput, match="an angle of 57 rad; the last channel must hold radians"):
        HEAD.candidates(output_with(((320, 240, 100, 50), 3, 0.9, 57)), 0.25)


def test_dec_15_neighbours_keep_their_own_angles() -> None:
    boxes = output_with(((100, 100, 80, 20), 1, 0.9, 0.1), ((400, 400, 80, 20), 2, 0.8, 1.0))
    found = Decoder(HEAD, Nms(), (), 15).run(boxes, SQUARE, 0.25)
    np.testing.assert_allclose(found.angles_rad, [0.1, 1.0], rtol=1e-6)
    assert found.classes.tolist() == [1, 2]


def kept(*boxes: tuple[tuple[float, ...], float]) -> list[int]:
    xyxy = np.array([box for box, _ in boxes], np.float32)
    angles = np.array([angle for _, angle in boxes], np.float32)
    scores = np.linspace(0.9, 0.5, len(boxes)).astype(np.float32)
    return rotated_nms(xyxy, angles, scores, np.zeros(len(boxes), np.int64), Nms()).rows.tolist()


def test_crossed_boxes_with_one_centre_are_two_objects() -> None:
    long = (100, 145, 300, 155)
    assert kept((long, 0.7), (long, -0.7)) == [0, 1]


def test_same_box_is_one_object_however_it_is_turned() -> None:
    assert kept(((100, 100, 200, 150), 0.3), ((102, 100, 202, 150), 0.3)) == [0]
    assert kept(((100, 100, 200, 200), 0.0), ((100, 100, 200, 200), math.pi / 2)) == [0]


def test_far_boxes_are_two_objects_and_empty_ones_do_no_harm() -> None:
    assert kept(((0, 0, 100, 20), 0.0), ((300, 300, 400, 320), 0.0), ((5, 5, 5, 5), 0.0)) == [0, 1, 2]


def test_overlap_knows_along_from_across() -> None:
    # Two long boxes at 45°, 14 px apart: one slid along its long side, one beside it.
    def at(x: float, y: float) -> tuple[tuple[float, ...], float]:
        return (x - 50, y - 5, x + 50, y + 5), math.pi / 4

    assert kept(at(200, 200), at(210, 210)) == [0]
    assert kept(at(200, 200), at(210, 190)) == [0, 1]


@given(st.floats(-3, 3))
def test_overlap_does_not_depend_on_how_the_pair_lies(turn: float) -> None:
    offset = np.array([math.cos(turn), math.sin(turn)]) * 14
    along = tuple(np.concatenate([np.subtract(offset, (50, 5)), np.add(offset, (50, 5))]))
    assert kept(((-50, -5, 50, 5), turn), (along, turn)) == [0]
