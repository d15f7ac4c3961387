"""Every pixel format through every preprocessor: the same picture, whatever the camera sends."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bench.allocation import LIMIT_BYTES, growth
from app.bgr import to_bgr
from app.frame import PixelFormat, Pixels, crop
from app.preprocess.cpu import CpuPreprocessor
from app.preprocess.exact import ExactPreprocessor
from app.preprocess.input_spec import InputSpec
from app.preprocess.reference import ReferencePreprocessor
from tests.frames import raw_picture

SPECS = [
    InputSpec("images", 96, 64),
    InputSpec("images", 96, 64, dtype="float16", colour="bgr"),
    InputSpec("images", 96, 64, "nhwc", resize="area"),
    InputSpec("images", 96, 64, "nhwc", "uint8", colour="bgr", scale=1.0),
    InputSpec("images", 96, 64, channels=1, colour="grey", placement="top_left"),
    InputSpec("images", 96, 64, "nhwc", "float16", 1, "grey", resize="area"),
]
SIZES_WH = [(192, 108), (70, 122), (480, 320), (576, 384), (402, 270), (288, 192), (96, 64)]
# 2; tall; 5, 6 and 4.2 by area; 3; nothing to do


def filled(kind, spec, image):
    """What a preprocessor makes of a picture, in grey levels."""
    out = np.full(spec.sample_shape, 7, spec.dtype)
    letterbox = kind(spec).run(image, out)
    return out.astype(np.float64) / spec.scale, letterbox


@pytest.mark.parametrize("pixels", list(PixelFormat))
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_the_cpu_s_ways_equal_the_reference_to_one_grey_level(spec, pixels):
    for size_wh in SIZES_WH:
        image = raw_picture(pixels, size_wh)
        ours, letterbox = filled(CpuPreprocessor, spec, image)
        reference, expected = filled(ReferencePreprocessor, spec, image)
        assert letterbox == expected
        assert np.abs(ours - reference).max() <= 1.01  # float16 has its own last bit


@pytest.mark.parametrize("pixels", list(PixelFormat))
@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.dtype == "float32"], ids=str)
def test_the_reference_equals_the_exact_way_but_for_its_last_rounding(spec, pixels):
    for size_wh in SIZES_WH:
        image = raw_picture(pixels, size_wh)
        reference, letterbox = filled(ReferencePreprocessor, spec, image)
        exact, expected = filled(ExactPreprocessor, spec, image)
        assert letterbox == expected
        assert np.abs(reference - exact).max() <= 0.8  # half a level, and what OpenCV's weights of 11 bits are off


@pytest.mark.parametrize("kind", [CpuPreprocessor, ReferencePreprocessor, ExactPreprocessor])
@pytest.mark.parametrize("pixels", list(PixelFormat))
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_part_is_resized_as_if_there_were_nothing_around_it(pixels, kind, data):
    width, height = (2 * data.draw(st.integers(3, 60)) for _ in range(2))
    left, top = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    right, bottom = data.draw(st.integers(left + 1, width)), data.draw(st.integers(top + 1, height))
    image, spec = raw_picture(pixels, (width, height)), SPECS[0]
    part, letterbox = filled(kind, spec, crop(image, (left, top, right, bottom)))
    alone = np.ascontiguousarray(to_bgr(image)[top:bottom, left:right])
    expected, same = filled(kind, spec, alone)
    assert letterbox == same
    np.testing.assert_allclose(part, expected, atol=1.0 if pixels is PixelFormat.GRAY8 else 1e-4)


@pytest.mark.parametrize("pixels", [PixelFormat.NV12, PixelFormat.YUYV, PixelFormat.GRAY8])
def test_cam_15_a_grey_scene_is_the_same_grey_in_every_format(pixels):
    data = np.full(pixels.shape((96, 64)), 128, np.uint8)
    if pixels is PixelFormat.NV12:
        data[:64] = 126  # the middle of luma's range
    if pixels is PixelFormat.YUYV:
        data[..., 0] = 126
    spec = InputSpec("images", 96, 64, dtype="uint8", scale=1.0)
    out, _ = filled(CpuPreprocessor, spec, Pixels(data, pixels))
    assert np.abs(out - 128).max() <= 1


def test_cam_20_formats_and_sizes_that_change_from_picture_to_picture_leave_no_trace():
    spec = SPECS[0]
    preprocessor, out = CpuPreprocessor(spec), np.empty(spec.sample_shape, spec.dtype)
    for size_wh, pixels in itertools.product(SIZES_WH, PixelFormat):
        image = raw_picture(pixels, size_wh)
        preprocessor.run(image, out)
        np.testing.assert_allclose(out / spec.scale, filled(CpuPreprocessor, spec, image)[0], atol=1e-3)


@pytest.mark.parametrize("pixels", list(PixelFormat))
def test_a_thousand_frames_take_no_array_for_a_moment_and_leave_none_behind(pixels):
    spec, image = InputSpec("images", 320, 256), raw_picture(pixels, (480, 270))
    preprocessor, out = CpuPreprocessor(spec), np.empty(spec.sample_shape, np.float32)

    kept, most_at_once = growth(lambda: preprocessor.run(image, out), 1000)

    assert kept < LIMIT_BYTES
    assert most_at_once < LIMIT_BYTES
