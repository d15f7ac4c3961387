"""A PNG that is written strip by strip is a PNG, to the last bit, and gives way between any two strips."""

import cv2
import numpy as np
import pytest

from app.evidence.png import STRIP_BYTES, png

SHAPES = [(1, 1), (1, 1, 3), (3, 2), (7, 5, 3), (480, 640), (721, 961, 3), (2, STRIP_BYTES, 3), (3, STRIP_BYTES + 1)]


def picture(shape, kind):
    rng = np.random.default_rng(7)
    noise = rng.integers(0, 256, shape, dtype=np.uint8)
    return {"noise": noise, "ramp": np.cumsum(noise % 3, axis=0, dtype=np.uint8), "blank": np.zeros_like(noise)}[kind]


@pytest.mark.parametrize("kind", ["noise", "ramp", "blank"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_opencv_reads_what_was_written(shape, kind):
    image = picture(shape, kind)
    read = cv2.imdecode(np.frombuffer(png(image), np.uint8), cv2.IMREAD_UNCHANGED)
    np.testing.assert_array_equal(read, image)
    assert read.dtype == np.uint8


def test_rows_of_a_larger_picture_are_taken_where_they_lie():
    whole = picture((90, 120, 3), "noise")
    part = whole[10:70, 30:110]
    np.testing.assert_array_equal(cv2.imdecode(np.frombuffer(png(part), np.uint8), cv2.IMREAD_COLOR), part)


def test_it_gives_way_before_each_strip_of_half_a_millisecond():
    times = []
    png(picture((720, 960, 3), "ramp"), lambda: times.append(None))
    rows = STRIP_BYTES // (960 * 3)
    assert len(times) == -(-720 // rows)


def test_it_is_as_small_as_opencv_s_own():
    image = picture((720, 960, 3), "ramp")
    flags = [cv2.IMWRITE_PNG_COMPRESSION, 1, cv2.IMWRITE_PNG_STRATEGY, cv2.IMWRITE_PNG_STRATEGY_RLE]
    flags += [cv2.IMWRITE_PNG_FILTER, cv2.IMWRITE_PNG_FILTER_UP]
    assert len(png(image)) <= 1.01 * len(cv2.imencode(".png", image, flags)[1])
