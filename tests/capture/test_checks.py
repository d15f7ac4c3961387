"""What can be wrong with one picture, in every pixel format."""

import cv2
import numpy as np
import pytest

from app.capture.checks import sharpness
from app.capture.guard import Guard
from app.capture.sample import sample_of
from app.config.sections import Guard as GuardSection
from app.frame import Picture, PixelFormat
from app.verdict import Code

SIZE_WH = (320, 240)
FORMATS = list(PixelFormat)


def scene(pixels: PixelFormat, low: int = 60, high: int = 180, seed: int = 4) -> np.ndarray:
    """Noise between two grey levels, in the format's own numbers."""
    data = np.random.default_rng(seed).integers(low, high, pixels.shape(SIZE_WH)).astype(pixels.dtype)
    return data << (pixels.bits - 8)


def even(pixels: PixelFormat, level: int) -> np.ndarray:
    return np.full(pixels.shape(SIZE_WH), level << (pixels.bits - 8), pixels.dtype)


def check(data: np.ndarray, pixels: PixelFormat = PixelFormat.BGR8, live: bool = True, **keys):
    reason = Guard(GuardSection(**keys), live).check(Picture(data, 1, 2, format=pixels))
    return reason and reason.code


@pytest.mark.parametrize("pixels", FORMATS)
def test_a_common_picture_passes_with_every_check_on(pixels):
    assert check(scene(pixels), pixels, torn=True, sharpness=10.0) is None


@pytest.mark.parametrize("pixels", FORMATS)
def test_a_picture_that_is_nearly_all_white_is_overexposed(pixels):
    white = 4095 if pixels.bits > 8 else 255
    data = np.full(pixels.shape(SIZE_WH), white, pixels.dtype)
    assert check(data, pixels) is Code.OVEREXPOSED
    assert check(data, pixels, overexposed=False, blank=False) is None
    data[:60] = scene(pixels)[:60]
    assert check(data, pixels) is None, "a quarter of it is not white"
    assert check(data, pixels, overexposed_share=0.6) is Code.OVEREXPOSED


@pytest.mark.parametrize("pixels", FORMATS)
@pytest.mark.parametrize("level", [60, 128, 200])
def test_a_grey_start_up_picture_is_blank(pixels, level):
    data = even(pixels, level)
    assert check(data, pixels) is Code.BLANK
    assert check(data, pixels, live=False) is None, "a file may be what it likes"
    assert check(data, pixels, blank=False) is None
    data[101, 203, ...] += 10 << (pixels.bits - 8)
    assert check(data, pixels) is None, "one pixel that differs, wherever it is"


def test_a_green_picture_is_blank_too():
    data = np.zeros((240, 320, 3), np.uint8)
    data[:] = (0, 135, 0)
    assert check(data) is Code.BLANK


@pytest.mark.parametrize("pixels", FORMATS)
def test_cam_18_a_flat_bottom_is_torn_where_that_is_looked_for(pixels):
    data = scene(pixels)
    rows = slice(220, 240)
    data[rows] = data.dtype.type(128 << (pixels.bits - 8))
    assert check(data, pixels) is None
    assert check(data, pixels, torn=True) is Code.TORN
    assert check(data, pixels, torn=True, torn_rows=30) is None


@pytest.mark.parametrize("pixels", FORMATS)
def test_a_picture_out_of_focus_is_less_sharp(pixels):
    sharp = scene(pixels)
    soft = cv2.GaussianBlur(sharp, (0, 0), 3.0)
    measured = [sharpness(sample_of(Picture(data, 1, 2, format=pixels))) for data in (sharp, soft)]
    assert measured[0] > 50 * measured[1]
    limit = measured[0] / 10
    assert check(sharp, pixels, sharpness=limit) is None
    assert check(soft, pixels, sharpness=limit) is Code.BLURRED


def test_the_reason_tells_the_sharpness_that_was_measured():
    picture = Picture(scene(PixelFormat.BGR8), 1, 2)
    text = Guard(GuardSection(sharpness=1e6), True).check(picture).text
    assert f"{sharpness(sample_of(picture)):.2f}" in text


def test_sharpness_means_the_same_in_8_and_in_12_bits():
    eight, twelve = PixelFormat.BAYER_RGGB8, PixelFormat.BAYER_RGGB12
    values = [sharpness(sample_of(Picture(scene(pixels), 1, 2, format=pixels))) for pixels in (eight, twelve)]
    assert values[1] == pytest.approx(values[0], rel=0.02)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (2, 2), (4, 3), (31, 33), (640, 16), (1920, 1080)])
def test_pictures_of_every_size_are_looked_at(width, height):
    data = np.random.default_rng(1).integers(60, 180, (height, width, 3), np.uint8)
    keys = {"blank": False} if width == 1 else {}
    assert check(data, torn=True, torn_rows=1, sharpness=1e-6 if width > 2 else None, **keys) in (None, Code.TORN)


def test_pictures_after_an_opening_are_not_judged_while_the_camera_warms_up():
    watch = Guard(GuardSection(warm_up=2), True)
    series = [np.zeros((240, 320, 3), np.uint8), *(scene(PixelFormat.BGR8, seed=seed) for seed in range(2))]
    found = [watch.check(Picture(data, number, number)) for number, data in enumerate(series)]
    assert [reason and reason.code for reason in found] == [Code.STARTING, Code.STARTING, None]
    watch.reset()
    assert watch.check(Picture(scene(PixelFormat.BGR8, seed=9), 9, 9)).code is Code.STARTING
