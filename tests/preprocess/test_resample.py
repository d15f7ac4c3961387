"""Which filter a picture is shrunk with, and what each one makes of its pixels."""

import cv2
import numpy as np
import pytest

from app.letterbox import fit
from app.preprocess.cpu import CpuPreprocessor
from app.preprocess.input_spec import InputSpec
from app.preprocess.resample import Filter, choose, weights


@pytest.mark.parametrize(
    ("image_wh", "network_wh", "asked", "wanted"),
    [
        ((1920, 1080), (640, 640), "auto", Filter.LINEAR),  # 3
        ((2559, 1440), (640, 640), "auto", Filter.LINEAR),  # a little less than 4
        ((2560, 1440), (640, 640), "auto", Filter.AREA),  # 4 to the pixel
        ((3840, 2160), (640, 640), "auto", Filter.AREA),  # 6
        ((3840, 2160), (640, 640), "linear", Filter.LINEAR),  # a model that was trained so
        ((1280, 720), (640, 640), "area", Filter.AREA),
        ((640, 640), (640, 640), "area", Filter.AREA),  # nothing to do, the same either way
        ((320, 200), (640, 640), "area", Filter.LINEAR),  # grows
        ((6400, 3), (640, 640), "auto", Filter.LINEAR),  # a strip of which one row is left, out of 3
    ],
)
def test_the_filter_follows_from_the_sizes_and_what_is_asked(image_wh, network_wh, asked, wanted):
    assert choose(fit(image_wh, network_wh), asked) is wanted


@pytest.mark.parametrize("kind", list(Filter))
@pytest.mark.parametrize(("pixels", "small"), [(640, 160), (641, 97), (5, 5), (3, 1), (1, 1), (7, 6)])
def test_no_light_is_made_or_lost(pixels, small, kind):
    matrix = weights(pixels, small, kind)
    assert matrix.shape == (small, pixels)
    assert matrix.min() >= 0
    np.testing.assert_allclose(matrix.sum(axis=1), 1)


@pytest.mark.parametrize(("kind", "interpolation"), [(Filter.LINEAR, cv2.INTER_LINEAR), (Filter.AREA, cv2.INTER_AREA)])
@pytest.mark.parametrize("image_wh", [(96, 64), (97, 61), (64, 64), (1280, 720)])
def test_the_weights_are_those_that_opencv_uses(image_wh, kind, interpolation):
    image = np.random.default_rng(1).random((image_wh[1], image_wh[0])).astype(np.float32)
    rows, columns = weights(image_wh[1], 23, kind), weights(image_wh[0], 17, kind)
    np.testing.assert_allclose(
        rows @ image @ columns.T, cv2.resize(image, (17, 23), interpolation=interpolation), atol=1e-4
    )


def test_area_sees_every_line_one_pixel_wide_and_bilinear_only_some():
    spec = InputSpec("images", 64, 64, dtype="uint8", scale=1.0)
    seen = {"linear": 0, "area": 0}
    for asked in seen:
        preprocessor = CpuPreprocessor(InputSpec("images", 64, 64, dtype="uint8", scale=1.0, resize=asked))
        for column in range(192, 200):
            image = np.zeros((512, 512, 3), np.uint8)
            image[:, column] = 255
            out = np.empty(spec.sample_shape, np.uint8)
            preprocessor.run(image, out)
            seen[asked] += out.max() > 20
    assert seen == {"linear": 2, "area": 8}
