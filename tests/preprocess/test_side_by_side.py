"""Pictures made ready side by side are what they are one after the other, to the last bit."""

import numpy as np
import pytest

from app.preprocess.cpu import CpuPreprocessor
from app.preprocess.helpers import Helpers
from app.preprocess.input_spec import InputSpec
from app.preprocess.side_by_side import SideBySide

SPEC = InputSpec("images", 64, 48)
RANDOM = np.random.default_rng(7)
SIZES_WH = [(64, 48), (200, 90), (90, 200), (64, 30)]  # as the network's, padding above, beside, and above again
MOST = 5


def pictures(count, first=0):
    """Pictures of sizes that change from one to the next."""
    sizes = [SIZES_WH[(first + number) % len(SIZES_WH)] for number in range(count)]
    return [RANDOM.integers(0, 256, (height, width, 3), np.uint8) for width, height in sizes]


def batch():
    return np.zeros((MOST, *SPEC.sample_shape), SPEC.dtype)


def alone(image):
    out = np.zeros(SPEC.sample_shape, SPEC.dtype)
    return CpuPreprocessor(SPEC).run(image, out), out


@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize("entered", [True, False])
def test_every_sample_and_letterbox_is_what_one_preprocessor_gives(count, entered):
    helpers, outs = Helpers(count), batch()
    beside = SideBySide(lambda: CpuPreprocessor(SPEC), MOST, helpers)
    if entered:
        helpers.__enter__()
    try:
        # As many as there are places, fewer, and other sizes in places that were used before.
        for turn, together in enumerate((5, 3, 1, 4, 2, 5, 5)):
            images = pictures(together, first=turn)
            letterboxes = beside.run_all(images, outs[:together])
            for image, letterbox, out in zip(images, letterboxes, outs, strict=False):
                expected, sample = alone(image)
                assert letterbox == expected
                assert (out == sample).all()
    finally:
        helpers.__exit__(None, None, None)


def test_one_picture_by_itself_is_the_same():
    (image,) = pictures(1)
    beside, out = SideBySide(lambda: CpuPreprocessor(SPEC), MOST, Helpers(1)), batch()[0]
    letterbox, sample = alone(image)
    assert beside.run(image, out) == letterbox
    assert (out == sample).all()


@pytest.mark.parametrize(("most", "count", "made"), [(4, 1, 2), (2, 7, 2), (4, 0, 1), (1, 3, 1)])
def test_there_are_no_more_preprocessors_than_can_have_work(most, count, made):
    each = []
    SideBySide(lambda: each.append(CpuPreprocessor(SPEC)) or each[-1], most, Helpers(count))
    assert len(each) == made
