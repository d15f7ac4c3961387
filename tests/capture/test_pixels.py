"""Arrays of every kind as pictures."""

import numpy as np
import pytest

from app.capture.pixels import to_bgr
from app.verdict import Code

GREY = np.random.default_rng(2).integers(0, 256, (6, 8), np.uint8)
BGR = np.random.default_rng(3).integers(0, 256, (6, 8, 3), np.uint8)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (GREY, np.dstack([GREY] * 3)),  # (h, w)
        (GREY[:, :, None], np.dstack([GREY] * 3)),  # (h, w, 1)
        (BGR, BGR),
        (np.dstack([BGR, np.zeros_like(GREY)]), BGR),  # transparent everywhere: dropped, not blended
        (BGR[:, ::-1], BGR[:, ::-1]),  # a view that is not contiguous
    ],
)
def test_cam_15_grey_and_alpha_become_the_same_picture(array, expected):
    image = to_bgr(array)
    assert image.shape == (6, 8, 3)
    assert image.dtype == np.uint8
    assert image.flags.c_contiguous
    np.testing.assert_array_equal(image, expected)


def test_cam_16_twelve_bits_use_the_whole_range():
    image = to_bgr(np.array([[0, 2048, 4095]], np.uint16), bit_depth=12)
    assert image[0, :, 0].tolist() == [0, 128, 255]


def test_cam_16_sixteen_bits_without_a_depth_are_refused():
    fault = to_bgr(np.full((4, 4), 4095, np.uint16))
    assert fault.code is Code.WRONG_FORMAT
    assert "bit_depth" in fault.text


def test_cam_16_a_value_over_the_depth_is_refused_and_not_clipped():
    fault = to_bgr(np.full((4, 4), 4095, np.uint16), bit_depth=10)
    assert fault.code is Code.WRONG_FORMAT
    assert "4095" in fault.text


@pytest.mark.parametrize(
    ("array", "code"),
    [
        (None, Code.UNREADABLE),
        (np.empty((0, 0, 3), np.uint8), Code.UNREADABLE),
        (np.zeros((4, 4, 2), np.uint8), Code.WRONG_FORMAT),  # no such picture
        (np.zeros((1, 4, 4, 3), np.uint8), Code.WRONG_FORMAT),  # a batch
        (np.zeros((4, 4, 3), np.float32), Code.WRONG_FORMAT),  # nobody knows its range
    ],
)
def test_what_is_no_picture_is_refused_with_a_reason(array, code):
    assert to_bgr(array).code is code
