"""The files of one kept picture, whatever the camera sends."""

import cv2
import numpy as np
import pytest

from app.bgr import to_bgr
from app.config.evidence import Evidence
from app.evidence.piece import part_of, piece_of
from app.evidence.pixels import PictureNote
from app.evidence.record import FORMAT, read_record, record_of
from app.evidence.waiting import Job
from app.frame import NO_IMAGE, PixelFormat
from tests.evidence.conftest import IMAGE
from tests.evidence.test_pixels import picture


def read(content):
    return cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)


@pytest.mark.parametrize("pixels", list(PixelFormat))
def test_crop_and_view_are_those_of_the_picture_in_bgr(pixels, outcome):
    image = picture(pixels)
    one = outcome(1, region_xyxy=(7.0, 5.0, 33.0, 29.0))
    files = dict(piece_of(Job(one, image, "x", ("verdict",)), "l", None, Evidence(path="x")))
    np.testing.assert_array_equal(read(files[".crop.png"]), to_bgr(image)[5:29, 7:33])
    assert read(files[".view.jpg"]).shape[1] == 64
    assert list(files)[-1] == ".json", "the record is last: a piece without one is torn"


@pytest.mark.parametrize(
    ("region", "size_wh"),
    [
        ((-9.0, -9.0, 900.0, 900.0), (64, 48)),  # a margin that leaves the picture
        ((10.2, 10.7, 20.1, 20.9), (11, 11)),  # no pixel of the part is cut off
        ((10.0, 10.0, 10.0, 20.0), None),  # no area
        ((70.0, 10.0, 90.0, 20.0), None),  # outside
        ((float("nan"), 0.0, 9.0, 9.0), None),
        (None, None),  # no gate
    ],
)
def test_the_part_is_cut_out_where_there_is_one(region, size_wh, outcome):
    part = part_of(outcome(1, region_xyxy=region), IMAGE)
    assert (None if part is None else (part.shape[1], part.shape[0])) == size_wh


def test_no_picture_has_no_part(outcome):
    assert part_of(outcome(1, region_xyxy=(0.0, 0.0, 9.0, 9.0)), NO_IMAGE) is None


def test_a_record_of_a_format_to_come_is_refused(outcome):
    written = record_of(outcome(1), "l", ["verdict"], PictureNote(), None)
    assert read_record(written).replay.format == FORMAT
    with pytest.raises(ValueError, match="it has the format 9; this version reads 1"):
        read_record(written.replace(b'"format": 1', b'"format": 9'))


def test_boxes_that_are_no_numbers_survive(outcome):
    one = outcome(1)
    one.detections.xyxy[0, 0], one.detections.scores[0] = np.nan, np.inf
    back = read_record(record_of(one, "l", ["verdict"], PictureNote(), None)).replay.boxes.detections()
    np.testing.assert_array_equal(back.xyxy, one.detections.xyxy)
    np.testing.assert_array_equal(back.scores, one.detections.scores)
