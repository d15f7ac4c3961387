"""What every preprocessor must do: fill a buffer that is not its own, whole, and say where the picture lies."""

import itertools

import numpy as np
import pytest

from app.letterbox import fit
from app.preprocess.cpu import CpuPreprocessor
from app.preprocess.input_spec import InputSpec
from app.preprocess.reference import ReferencePreprocessor

PREPROCESSORS = [CpuPreprocessor, ReferencePreprocessor]
SPECS = [
    InputSpec("images", 96, 64, layout, dtype, 1 if colour == "grey" else 3, colour, scale, placement)
    for layout, (dtype, scale), colour, placement in itertools.product(
        ("nchw", "nhwc"),
        (("float32", 1 / 255), ("float32", 1.0), ("float16", 1 / 255), ("uint8", 1.0)),
        ("rgb", "bgr", "grey"),
        ("centre", "top_left"),
    )
]
SIZES_WH = [(192, 108), (70, 121), (96, 64), (300, 2), (2, 300), (1, 1)]  # wide, tall, nothing to do, strips, a dot


@pytest.fixture(params=PREPROCESSORS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture
def picture():
    random = np.random.default_rng(1)
    return lambda size_wh, below=256: random.integers(0, below, (size_wh[1], size_wh[0], 3), np.uint8)


WHOLE_FACTORS_WH = [(288, 192), (480, 160), (672, 448), (192, 128), (384, 96), (288, 191), (287, 192)]
# 3; 5; 7; 2; 4; 3 by 2.98; 2.99 by 3


def by_rows(spec, out):
    """Return a network buffer as float (h, w, c)."""
    return (out.transpose(1, 2, 0) if spec.layout == "nchw" else out).astype(np.float64)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_all_ways_give_the_same_numbers(kind, spec, picture):
    preprocessor = kind(spec)
    for size_wh in SIZES_WH:
        image = picture(size_wh)
        out, expected = np.empty(spec.sample_shape, spec.dtype), np.empty(spec.sample_shape, spec.dtype)

        letterbox = preprocessor.run(image, out)

        assert letterbox == ReferencePreprocessor(spec).run(image, expected)
        np.testing.assert_allclose(out, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("image_wh", WHOLE_FACTORS_WH)
def test_a_shrink_by_a_whole_factor_gives_the_same_numbers_to_the_last_bit(kind, image_wh, picture):
    spec, image = InputSpec("images", 96, 64, dtype="uint8", scale=1.0), picture(image_wh)
    out, expected = np.empty((2, *spec.sample_shape), np.uint8)

    kind(spec).run(image, out)
    ReferencePreprocessor(spec).run(image, expected)

    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_the_buffer_is_overwritten_whole(kind, spec, picture):
    image, preprocessor = picture((70, 121)), kind(spec)
    clean, dirty = np.zeros(spec.sample_shape, spec.dtype), np.full(spec.sample_shape, 99, spec.dtype)

    preprocessor.run(image, clean)
    preprocessor.run(image, dirty)

    np.testing.assert_array_equal(clean, dirty)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_colour_lands_in_its_channel_and_the_pads_around_it(kind, spec):
    image = np.empty((50, 50, 3), np.uint8)
    image[:] = 10, 120, 250  # blue, green, red
    out = np.empty(spec.sample_shape, spec.dtype)

    letterbox = kind(spec).run(image, out)

    expected = np.full((64, 96, spec.channels), spec.pad_value * spec.scale)
    channels = {"rgb": (250, 120, 10), "bgr": (10, 120, 250), "grey": (146,)}[spec.colour]
    expected[letterbox.inner] = np.array(channels) * spec.scale
    np.testing.assert_allclose(by_rows(spec, out), expected, rtol=1e-3)


def test_pictures_of_changing_sizes_do_not_leave_traces_in_one_another(kind, picture):
    spec = SPECS[0]
    images = [picture(size_wh) for size_wh in SIZES_WH]
    preprocessor, out, expected = kind(spec), *(np.empty(spec.sample_shape, spec.dtype) for _ in range(2))

    for image in images * 2:
        letterbox = preprocessor.run(image, out)
        kind(spec).run(image, expected)

        assert letterbox == fit((image.shape[1], image.shape[0]), spec.network_wh)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("spec", SPECS[::5], ids=str)
@pytest.mark.parametrize(("one_wh", "other_wh"), list(itertools.permutations(SIZES_WH, 2)))
def test_another_preprocessor_s_picture_in_the_padding_is_seen_and_covered(kind, picture, spec, one_wh, other_wh):
    one, other, out = kind(spec), kind(spec), np.empty(spec.sample_shape, spec.dtype)
    image, expected = picture(one_wh), np.empty(spec.sample_shape, spec.dtype)
    ReferencePreprocessor(spec).run(image, expected)

    for _ in range(2):
        one.run(image, out)
        np.testing.assert_allclose(out, expected, rtol=0, atol=1e-6)
        other.run(picture(other_wh, below=100), out)  # darker than the padding


def test_a_buffer_that_was_wiped_in_between_is_filled_again(kind, picture):
    image, preprocessor, out = picture((192, 108)), kind(SPECS[0]), np.empty(SPECS[0].sample_shape, np.float32)
    preprocessor.run(image, out)
    expected = out.copy()
    out[:] = 0

    preprocessor.run(image, out)

    np.testing.assert_array_equal(out, expected)


def test_the_picture_is_left_alone(kind, picture):
    image = picture((192, 108))
    image.flags.writeable = False
    before = image.copy()

    kind(SPECS[0]).run(image, np.empty(SPECS[0].sample_shape, np.float32))

    np.testing.assert_array_equal(image, before)


def test_one_row_of_a_batch_is_filled_in_place(kind, picture):
    batch = np.zeros((4, *SPECS[0].sample_shape), np.float32)

    kind(SPECS[0]).run(picture((192, 108)), batch[2])

    assert batch[2].all()
    assert not batch[[0, 1, 3]].any()
