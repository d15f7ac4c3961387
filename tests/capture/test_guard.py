"""Pictures that can't be judged."""

import numpy as np
import pytest

from app.capture.guard import Guard
from app.capture.scripted import picture_of
from app.config.sections import Guard as GuardSection
from app.frame import NO_IMAGE, Picture, PixelFormat
from app.verdict import Code, Reason

GREY = np.random.default_rng(4).integers(50, 200, (240, 320, 3), np.uint8)


def guard(live: bool = True, **keys) -> Guard:
    return Guard(GuardSection(**{"blank": False, **keys}), live=live)


def picture(image_hwc: np.ndarray, fault: Reason | None = None) -> Picture:
    return Picture(image_hwc, 1, 2, fault=fault)


def codes(checks: list) -> list:
    return [reason and reason.code for reason in checks]


def test_a_good_picture_passes():
    assert guard().check(picture(GREY)) is None


def test_a_fault_of_the_source_is_kept():
    fault = Reason(Code.TORN, "cut off")
    assert guard().check(picture(NO_IMAGE, fault)) is fault


def test_cam_08_an_empty_picture_is_refused():
    assert guard().check(picture(NO_IMAGE)).code is Code.UNREADABLE


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ({}, None),
        ({"width": 320}, None),
        ({"width": 320, "height": 240}, None),
        ({"width": 321}, Code.WRONG_SIZE),
        ({"height": 480}, Code.WRONG_SIZE),
    ],
)
def test_a_picture_of_the_wrong_size_is_refused(keys, code):
    reason = guard(**keys).check(picture(GREY))
    assert (reason and reason.code) is code


@pytest.mark.parametrize(
    ("value", "keys", "code"),
    [
        (12, {}, Code.BLACK),  # as bright as the level
        (13, {}, None),
        (0, {"black": False}, None),
        (50, {"black_level": 60}, Code.BLACK),
    ],
)
def test_a_black_picture_is_refused(value, keys, code):
    reason = guard(**keys).check(picture_of(value))
    assert (reason and reason.code) is code


def test_one_bright_pixel_anywhere_is_enough_not_to_be_black():
    image = np.zeros((240, 320, 3), np.uint8)
    image[101, 203, 1] = 200
    assert guard().check(picture(image)) is None


def test_identical_pictures_in_a_row_mean_frozen_until_one_differs():
    watch = guard(frozen_after=3)
    series = [GREY, GREY.copy(), GREY, GREY, GREY + 1, GREY + 1]
    assert codes([watch.check(picture(image)) for image in series]) == [
        None,
        None,
        Code.FROZEN,
        Code.FROZEN,
        None,
        None,
    ]


def test_noise_on_three_pixels_is_not_frozen():
    watch, random = guard(frozen_after=2), np.random.default_rng(6)
    for _ in range(20):
        image = GREY.copy()
        for _ in range(3):
            image[random.integers(240), random.integers(320)] += 1
        assert watch.check(picture(image)) is None


@pytest.mark.parametrize(
    ("frozen", "live", "code"),
    [
        (None, True, Code.FROZEN),  # a camera
        (None, False, None),  # a folder may hold the same picture twice
        (False, True, None),
        (True, False, Code.FROZEN),
    ],
)
def test_frozen_is_looked_for_where_pictures_come_by_themselves(frozen, live, code):
    watch = guard(live, frozen=frozen, frozen_after=2)
    watch.check(picture(GREY))
    assert codes([watch.check(picture(GREY))]) == [code]


def test_a_change_of_size_is_not_frozen():
    watch = guard(frozen_after=2)
    assert codes([watch.check(picture_of(90, (64, 48))), watch.check(picture_of(90, (48, 64)))]) == [None, None]


def test_it_hangs_after_ten_times_as_many():
    watch = guard(frozen_after=2)
    for _ in range(19):
        watch.check(picture(GREY))
    assert not watch.hangs
    watch.check(picture(GREY))
    assert watch.hangs
    watch.reset()
    assert not watch.hangs


def test_no_picture_is_written_to():
    image = GREY.copy()
    image.flags.writeable = False
    watch = guard()
    assert codes([watch.check(picture(image)) for _ in range(2)]) == [None, None]


DARK_AND_LIGHT = [
    (PixelFormat.GRAY8, 12, 13),
    (PixelFormat.NV12, 26, 27),  # black is 16: 12 of 255 is 10 above it
    (PixelFormat.YUYV, 26, 27),
    (PixelFormat.BAYER_GBRG8, 12, 13),
    (PixelFormat.BAYER_GBRG12, 192, 209),  # 12 of 255 is 192 of 4095
]


@pytest.mark.parametrize(("pixels", "dark", "light"), DARK_AND_LIGHT)
def test_black_means_the_same_brightness_in_every_pixel_format(pixels, dark, light):
    data = np.full(pixels.shape((320, 240)), dark, pixels.dtype)
    if pixels is PixelFormat.NV12:
        data[240:] = 128  # chroma without a colour is no light
    if pixels is PixelFormat.YUYV:
        data[..., 1] = 128
    assert codes([guard().check(Picture(data, 1, 2, format=pixels))]) == [Code.BLACK]
    bright = data.copy()
    bright[101, 203, ...] = light
    assert guard().check(Picture(bright, 1, 2, format=pixels)) is None


@pytest.mark.parametrize("pixels", list(PixelFormat))
def test_size_and_repetition_are_seen_in_every_pixel_format(pixels):
    watch = guard(frozen_after=2, width=320, height=240)
    data = np.full(pixels.shape((320, 240)), 99 << (pixels.bits - 8), pixels.dtype)
    changed = data.copy()
    changed[-1, -1, ...] += 1
    series = [data, data.copy(), changed]
    found = codes([watch.check(Picture(each, 1, 2, format=pixels)) for each in series])
    assert found == [None, Code.FROZEN, None]
    small = Picture(np.full(pixels.shape((64, 48)), 99, pixels.dtype), 1, 2, format=pixels)
    assert watch.check(small).code is Code.WRONG_SIZE


def test_cam_16_sixteen_bits_in_a_twelve_bit_format_are_refused():
    data = np.full((240, 320), 4095, np.uint16)
    assert guard(overexposed=False).check(Picture(data, 1, 2, format=PixelFormat.BAYER_RGGB12)) is None
    reason = guard().check(Picture(data * 16, 1, 2, format=PixelFormat.BAYER_RGGB12))
    assert reason.code is Code.WRONG_FORMAT
    assert "65520, more than bayer_rggb12 has (4095)" in reason.text


def test_cam_20_a_change_of_the_pixel_format_is_not_frozen():
    watch = guard(frozen_after=2)
    grey = Picture(np.full((60, 40), 99, np.uint8), 1, 2, format=PixelFormat.GRAY8)
    nv12 = Picture(np.full((60, 40), 99, np.uint8), 1, 2, format=PixelFormat.NV12)
    bgr = picture(np.full((60, 40, 3), 99, np.uint8))
    assert codes([watch.check(each) for each in (grey, bgr, nv12)]) == [None, None, None]
