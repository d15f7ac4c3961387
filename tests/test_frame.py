"""A picture's true size in every pixel format, and arrays that would be misread."""

import numpy as np
import pytest

from app.frame import NO_IMAGE, Frame, Picture, PixelFormat, Pixels
from tests.frames import raw_picture


@pytest.mark.parametrize("pixels", list(PixelFormat))
def test_a_picture_has_its_true_size_whatever_its_format(pixels):
    picture = Picture(np.zeros(pixels.shape((64, 48)), pixels.dtype), 1, 2, format=pixels)
    assert picture.size_wh == (64, 48)
    assert Frame("front", 1, picture, 3).image is not None


def test_half_the_bytes_of_a_picture_in_bgr_are_enough_for_nv12():
    assert np.prod(PixelFormat.NV12.shape((1920, 1080))) * 2 == np.prod(PixelFormat.BGR8.shape((1920, 1080)))


@pytest.mark.parametrize(
    ("pixels", "data"),
    [
        (PixelFormat.GRAY8, np.zeros((4, 4), np.uint16)),  # 16 bits that nobody said the meaning of
        (PixelFormat.GRAY8, np.zeros((4, 4, 3), np.uint8)),  # BGR
        (PixelFormat.NV12, np.zeros((7, 4), np.uint8)),  # no whole chroma
        (PixelFormat.NV12, np.zeros((6, 5), np.uint8)),  # an odd width
        (PixelFormat.YUYV, np.zeros((4, 5, 2), np.uint8)),  # an odd width
        (PixelFormat.YUYV, np.zeros((4, 8), np.uint8)),  # bytes, not pairs
        (PixelFormat.BAYER_RGGB8, np.zeros((2, 8), np.uint8)),  # too thin to have neighbours
        (PixelFormat.BAYER_RGGB12, np.zeros((8, 8), np.uint8)),  # packed, or the upper bytes cut off
        (PixelFormat.GRAY8, np.zeros(16, np.uint8)),  # a buffer without rows
    ],
)
def test_cam_17_an_array_that_does_not_fit_its_format_is_refused(pixels, data):
    with pytest.raises(ValueError, match=f"^{pixels.value}: an array"):
        Picture(data, 1, 2, format=pixels)


def test_rows_with_gaps_are_refused_because_a_device_would_copy_them_as_one():
    with pytest.raises(ValueError, match="rows must follow one another"):
        Pixels(np.zeros((4, 8), np.uint8)[:, :6], PixelFormat.GRAY8)


@pytest.mark.parametrize("region", [(-1, 0, 4, 4), (0, 0, 9, 4), (0, 3, 4, 2)])
def test_a_part_that_lies_outside_is_refused(region):
    picture = raw_picture(PixelFormat.GRAY8, (8, 6))
    assert isinstance(picture, Pixels)
    with pytest.raises(ValueError, match="is not inside a picture of 8x6"):
        picture.crop(region)


def test_asking_for_bgr_where_there_is_none_is_a_bug_that_is_told():
    with pytest.raises(AssertionError, match="a picture in nv12 has no BGR"):
        _ = Picture(np.zeros((6, 4), np.uint8), 1, 2, format=PixelFormat.NV12).image_hwc


def test_no_picture_has_no_size():
    assert Picture(NO_IMAGE, 1, 2).size_wh == (0, 0)
