"""The generated camera."""

import itertools

import numpy as np

from app.capture.synthetic import BRIGHT, Synthetic, draw, rectangle_xyxy
from app.config.sections import SyntheticSource
from tests.capture.reading import read_all


def test_the_rectangle_lies_where_it_is_said_to_lie():
    for index in (0, 1, 50, 1000):
        ys, xs = np.nonzero(draw(index, (64, 48))[:, :, 0] == BRIGHT)
        assert (xs.min(), ys.min(), xs.max() + 1, ys.max() + 1) == rectangle_xyxy(index, (64, 48))


def test_no_two_pictures_in_a_row_are_equal():
    places = [rectangle_xyxy(index, (640, 480)) for index in range(1000)]
    assert all(one != next_one for one, next_one in itertools.pairwise(places))


def test_the_picture_and_its_label_tell_the_truth():
    section = SyntheticSource(kind="synthetic", width=64, height=48, frames=5, paced=False)
    pictures = read_all(Synthetic(section))
    assert [picture.label for picture in pictures] == [f"picture {index}" for index in range(5)]
    np.testing.assert_array_equal(pictures[3].image_hwc, draw(3, (64, 48)))


def test_the_smallest_picture_can_be_drawn():
    assert draw(7, (1, 1)).shape == (1, 1, 3)
