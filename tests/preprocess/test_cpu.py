"""The fast way on the CPU: what it refuses, and that a frame costs no memory."""

import numpy as np
import pytest

from app.bench.allocation import LIMIT_BYTES, growth
from app.preprocess.cpu import MOST_BUFFERS, CpuPreprocessor
from app.preprocess.input_spec import InputSpec

SPEC = InputSpec("images", 64, 48)
IMAGE = np.zeros((30, 50, 3), np.uint8)


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((30, 50), np.uint8),  # grey
        np.zeros((30, 50, 4), np.uint8),  # with an alpha channel
        np.zeros((30, 50, 3), np.uint16),  # 16 bit
        np.zeros((30, 50, 3), np.float32),  # already normalised by someone
    ],
)
def test_a_picture_of_another_kind_is_refused(image):
    with pytest.raises(ValueError, match=r"picture: expected uint8 \(h, w, 3\)"):
        CpuPreprocessor(SPEC).run(image, np.empty(SPEC.sample_shape, np.float32))


@pytest.mark.parametrize(
    "out",
    [
        np.empty((48, 64, 3), np.float32),  # another layout
        np.empty((3, 48, 64), np.float64),  # another type
        np.empty((1, 3, 48, 64), np.float32),  # with the batch axis
        np.empty((3, 64, 48), np.float32).transpose(0, 2, 1),  # not in one piece
    ],
)
def test_a_buffer_that_does_not_fit_is_refused_instead_of_replaced(out):
    with pytest.raises(ValueError, match=r"out: expected C-contiguous float32 \(3, 48, 64\)"):
        CpuPreprocessor(SPEC).run(IMAGE, out)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_mdl_01_every_value_is_the_nearest_that_the_type_has(dtype):
    spec = InputSpec("images", 16, 16, dtype=dtype)
    image = np.arange(256, dtype=np.uint8).reshape(16, 16, 1).repeat(3, axis=2)
    out = np.empty(spec.sample_shape, dtype)

    CpuPreprocessor(spec).run(image, out)

    np.testing.assert_array_equal(out[0].ravel(), (np.arange(256) / 255).astype(dtype))


def test_mdl_02_a_wide_picture_fills_a_fixed_square_with_pads():
    spec = InputSpec("images", 640, 640)
    out = np.empty(spec.sample_shape, np.float32)

    letterbox = CpuPreprocessor(spec).run(np.full((720, 1280, 3), 255, np.uint8), out)

    assert letterbox.resized_wh == (640, 360)
    assert (out[:, 140:500] == 1).all()
    assert (out[:, :140] == np.float32(114 / 255)).all()
    assert (out[:, 500:] == np.float32(114 / 255)).all()


def test_mdl_05_uint8_rows_of_pixels_get_raw_values():
    spec = InputSpec("images", 8, 8, "nhwc", "uint8", scale=1.0)
    image = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
    out = np.empty(spec.sample_shape, np.uint8)

    CpuPreprocessor(spec).run(image, out)

    np.testing.assert_array_equal(out, image[:, :, ::-1])


def test_buffers_are_forgotten_again_when_there_are_many():
    preprocessor = CpuPreprocessor(SPEC)
    buffers = np.zeros((MOST_BUFFERS * 2 + 1, *SPEC.sample_shape), np.float32)

    for out in buffers:
        preprocessor.run(IMAGE, out)

    assert len(preprocessor._padded) <= MOST_BUFFERS
    assert (buffers == buffers[0]).all()


def test_a_thousand_frames_take_no_array_for_a_moment_and_leave_none_behind():
    spec = InputSpec("images", 320, 256)
    preprocessor, out = CpuPreprocessor(spec), np.empty(spec.sample_shape, np.float32)
    image = np.zeros((270, 480, 3), np.uint8)

    kept, most_at_once = growth(lambda: preprocessor.run(image, out), 1000)

    # The smallest array that a frame could need, one channel of it, is several times as large.
    assert kept < LIMIT_BYTES
    assert most_at_once < LIMIT_BYTES
