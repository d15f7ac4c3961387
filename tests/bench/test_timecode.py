"""A time painted into a picture is read back, or is known not to be readable."""

import cv2
import numpy as np
import pytest

from app.bench import timecode
from app.bench.glass import OUTPUT, SPEC, boxes_of, time_of
from app.bench.painted import SIZE_WH
from app.publish.message import DetectionMessage

TIMES_NS = [0, 1, 0x5A5A, 123_456_789_012_345, (1 << 64) - 1]


def picture(time_ns: int, channels: int = 3) -> np.ndarray:
    image = np.full((SIZE_WH[1], SIZE_WH[0], channels), 96, np.uint8)
    timecode.paint(image.data.cast("B"), SIZE_WH[0] * channels, channels, time_ns)
    return image


@pytest.mark.parametrize("time_ns", TIMES_NS)
@pytest.mark.parametrize("channels", [1, 3])
def test_a_painted_time_is_read_back(time_ns, channels):
    assert timecode.read(picture(time_ns, channels)[..., 0], 1.0, 127) == time_ns


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.25])
def test_it_survives_a_jpeg_and_another_size(scale):
    jpeg = cv2.imencode(".jpg", picture(TIMES_NS[3]), [cv2.IMWRITE_JPEG_QUALITY, 40])[1]
    seen = cv2.resize(cv2.imdecode(jpeg, cv2.IMREAD_GRAYSCALE), None, fx=scale, fy=scale)
    assert timecode.read(seen, scale, 127) == TIMES_NS[3]


@pytest.mark.parametrize("grey", [0, 96, 255])
def test_a_picture_without_a_time_shows_none(grey):
    assert timecode.read(np.full((480, 640), grey, np.uint8), 1.0, 127) is None


def test_any_wrong_square_is_noticed():
    for column in range(timecode.COLUMNS):
        for row in range(timecode.ROWS):
            image = picture(TIMES_NS[3])[..., 0].copy()
            place = tuple(slice(i * timecode.SQUARE_PX, (i + 1) * timecode.SQUARE_PX) for i in (row, column))
            image[place] = 255 - image[place]
            assert timecode.read(image, 1.0, 127) != TIMES_NS[3]


@pytest.mark.parametrize("time_ns", TIMES_NS)
def test_the_engine_carries_the_time_in_its_boxes(time_ns):
    plane = picture(time_ns).transpose(2, 0, 1).astype(np.float32) / 255
    rows = boxes_of({SPEC.name: plane[None]})[OUTPUT][0]
    boxes = [DetectionMessage(name="c", score=float(row[4]), xyxy=tuple(map(float, row[:4]))) for row in rows[::-1]]

    class Result:
        detections = boxes

    assert time_of(Result) == time_ns


def test_an_engine_that_can_read_no_time_gives_no_boxes():
    assert not boxes_of({SPEC.name: np.zeros((1, *SPEC.sample_shape), np.float32)})[OUTPUT].any()
