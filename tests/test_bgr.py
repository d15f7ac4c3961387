"""What each pixel format means, in numbers worked out by hand, and that a part looks as it does in the whole."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bgr import Bgr, to_bgr, to_grey
from app.frame import PixelFormat, Pixels, crop, size_of
from tests.colours import whole_bgr, whole_grey
from tests.frames import raw_picture

BAYER = [pixels for pixels in PixelFormat if pixels.bayer]
NOT_BGR = [pixels for pixels in PixelFormat if pixels is not PixelFormat.BGR8]


@pytest.mark.parametrize("pixels", BAYER)
def test_cam_17_a_red_mosaic_is_red_in_every_bayer_order(pixels):
    assert pixels.bayer is not None
    red = np.array([letter == "r" for letter in pixels.bayer], pixels.dtype).reshape(2, 2)
    data = np.tile(red * ((1 << pixels.bits) - 1), (4, 5)).astype(pixels.dtype)
    image = to_bgr(Pixels(data, pixels))
    assert image.shape == (8, 10, 3)
    assert (image == (0, 0, 255)).all()


@pytest.mark.parametrize("colour", range(3))
@pytest.mark.parametrize("pixels", BAYER)
def test_each_colour_of_a_mosaic_fills_its_own_channel_alone(pixels, colour):
    assert pixels.bayer is not None
    one = np.array([letter == "bgr"[colour] for letter in pixels.bayer], pixels.dtype).reshape(2, 2)
    data = np.tile(one * ((1 << pixels.bits) - 1), (4, 5)).astype(pixels.dtype)
    wanted = [255 if channel == colour else 0 for channel in range(3)]
    assert (to_bgr(Pixels(data, pixels)) == wanted).all()


@pytest.mark.parametrize(
    ("yuv", "bgr"),
    [
        ((16, 128, 128), (0, 0, 0)),  # black
        ((235, 128, 128), (255, 255, 255)),  # white
        ((126, 128, 128), (128, 128, 128)),  # grey
        ((81, 90, 240), (0, 0, 254)),  # red, as BT.601 has it
        ((145, 54, 34), (1, 255, 0)),  # green
        ((41, 240, 110), (255, 0, 0)),  # blue
        ((0, 128, 128), (0, 0, 0)),  # blacker than black
        ((255, 128, 128), (255, 255, 255)),  # whiter than white
    ],
)
def test_nv12_and_yuyv_are_bt_601_in_video_range(yuv, bgr):
    y, u, v = yuv
    nv12 = np.full((6, 4), y, np.uint8)
    nv12[4:] = np.tile((u, v), (2, 2))
    yuyv = np.full((4, 4, 2), y, np.uint8)
    yuyv[..., 1] = np.tile((u, v), (4, 2))
    for image in (to_bgr(Pixels(nv12, PixelFormat.NV12)), to_bgr(Pixels(yuyv, PixelFormat.YUYV))):
        np.testing.assert_allclose(image, np.tile(np.array(bgr), (4, 4, 1)), atol=1)


@pytest.mark.parametrize("pixels", list(PixelFormat))
@settings(max_examples=40, deadline=None)
@given(size=st.tuples(st.integers(2, 60), st.integers(2, 40)), seed=st.integers(0, 1000))
def test_every_byte_is_what_the_whole_numbers_give(pixels, size, seed):
    """The kernels compute with these, and have to start from the same bytes."""
    image = raw_picture(pixels, (size[0] * 2, size[1] * 2), seed)

    np.testing.assert_array_equal(to_bgr(image), whole_bgr(image))
    np.testing.assert_array_equal(to_grey(image), whole_grey(image))


def test_every_level_of_twelve_bits_and_every_sixth_colour_of_yuv_is_too():
    """Of all colours, every sixth of each component and the last: 85,184 of them."""
    steps = np.r_[0:255:6, 255].astype(np.uint8)
    y, u, v = (axis.ravel() for axis in np.meshgrid(steps, steps, steps, indexing="ij"))
    yuyv = np.stack([np.stack([y, u], -1), np.stack([y, v], -1)], axis=1).reshape(len(steps), -1, 2)
    for image in (
        Pixels(yuyv, PixelFormat.YUYV),
        Pixels(np.arange(1 << 16).astype(np.uint16).reshape(256, 256).repeat(2, 0).repeat(2, 1), BAYER[-1]),
    ):
        np.testing.assert_array_equal(to_bgr(image), whole_bgr(image))


def test_the_grey_of_a_grey_picture_is_its_own_memory():
    levels = np.zeros((4, 6), np.uint8)

    assert np.shares_memory(to_grey(Pixels(levels, PixelFormat.GRAY8)), levels)


def test_twelve_bits_are_scaled_and_not_cut_off():
    image = to_bgr(Pixels(np.full((4, 4), 4095, np.uint16), PixelFormat.BAYER_GBRG12))
    assert (image == 255).all()
    flat = [
        to_bgr(Pixels(np.full((3, 3), value, np.uint16), PixelFormat.BAYER_RGGB12))[1, 1] for value in (0, 2048, 16)
    ]
    assert [pixel.tolist() for pixel in flat] == [[0] * 3, [128] * 3, [1] * 3]


def test_a_picture_that_is_bgr_already_is_not_copied():
    image = np.zeros((4, 6, 3), np.uint8)
    assert to_bgr(image) is image
    assert np.shares_memory(to_bgr(Pixels(image, PixelFormat.BGR8)), image)


@pytest.mark.parametrize("pixels", list(PixelFormat))
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_part_looks_as_it_does_in_the_whole(pixels, data):
    width, height = (2 * data.draw(st.integers(2, 12)) for _ in range(2))
    left, top = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    right, bottom = data.draw(st.integers(left + 1, width)), data.draw(st.integers(top + 1, height))
    picture = raw_picture(pixels, (width, height))
    part = crop(picture, (left, top, right, bottom))
    assert size_of(part) == (right - left, bottom - top)
    np.testing.assert_array_equal(to_bgr(part), to_bgr(picture)[top:bottom, left:right])


@pytest.mark.parametrize("pixels", NOT_BGR)
def test_a_part_of_a_part_is_a_part_of_the_whole(pixels):
    picture = raw_picture(pixels, (24, 16))
    assert isinstance(picture, Pixels)
    np.testing.assert_array_equal(to_bgr(picture.crop((3, 2, 20, 15)).crop((1, 4, 9, 7))), to_bgr(picture)[6:9, 4:12])


@pytest.mark.parametrize("pixels", NOT_BGR)
def test_memory_is_used_again_and_never_that_of_the_picture(pixels):
    bgr, picture, other = Bgr(), raw_picture(pixels, (24, 16)), raw_picture(pixels, (8, 6))
    assert isinstance(picture, Pixels)
    kept = picture.data.copy()
    first = bgr.of(picture)
    copy = first.copy()
    assert np.shares_memory(first, bgr.of(picture))
    np.testing.assert_array_equal(bgr.of(other), to_bgr(other))
    np.testing.assert_array_equal(bgr.of(picture), copy)
    np.testing.assert_array_equal(picture.data, kept)
