"""What is measured of the pixel formats is what the product does."""

import cv2
import pytest

from app.bench import formats
from app.frame import PixelFormat, size_of


def test_every_kind_of_format_and_both_filters_are_beside_their_first_and_opencv_is_left_as_it_was():
    threads = cv2.getNumThreads()
    rows = formats.rows(rounds=1)
    assert [row.what for row in rows] == [*(one.value for one in formats.FORMATS), "by linear", "by area"]
    assert [row.got for row in rows if row.what in ("bgr8", "by linear")] == ["1.00 ×"] * 2
    assert cv2.getNumThreads() == threads


@pytest.mark.parametrize("pixels", formats.FORMATS)
def test_the_pictures_have_the_format_and_size_that_they_are_named_after(pixels):
    image = formats.picture(pixels, (64, 48))
    assert size_of(image) == (64, 48)
    assert pixels is PixelFormat.BGR8 or image.format is pixels
