"""One that is the same in every pixel needs no second look, for a moment."""

import numpy as np
import pytest

from app.detections import Detections
from app.errors import BadOutput
from app.frame import PixelFormat
from app.static import Static
from tests.frames import raw_picture

SECOND_NS = 1_000_000_000
FOUND = Detections.none(("a",))


class Rig:
    """A camera's memory with a clock of the test's own."""

    def __init__(self):
        self.now_ns = 0
        self.static = Static(1.0, lambda: self.now_ns)


@pytest.fixture
def rig():
    rig = Rig()
    rig.picture = np.random.default_rng(1).integers(0, 255, (48, 64, 3), np.uint8)
    rig.static.keep(rig.picture, "m", FOUND)
    return rig


def test_the_same_picture_is_known(rig):
    assert rig.static.known(rig.picture.copy(), "m") is FOUND


@pytest.mark.parametrize("place", [(0, 0, 0), (1, 1, 2), (47, 63, 1)])
def test_one_pixel_makes_it_another(rig, place):
    other = rig.picture.copy()
    other[place] ^= 1
    assert rig.static.known(other, "m") is None


def test_another_network_looks_itself(rig):
    assert rig.static.known(rig.picture, "n") is None


def test_after_a_while_it_is_looked_at_anew(rig):
    rig.now_ns = SECOND_NS + 1
    assert rig.static.known(rig.picture, "m") is None


def test_using_it_again_does_not_make_it_last_longer(rig):
    rig.now_ns = SECOND_NS
    assert rig.static.known(rig.picture, "m") is FOUND
    rig.now_ns = SECOND_NS + 1
    assert rig.static.known(rig.picture, "m") is None


def test_numbers_that_can_not_be_are_not_remembered(rig):
    rig.static.keep(rig.picture, "m", BadOutput("NaN"))
    assert rig.static.known(rig.picture, "m") is None


def test_a_picture_in_another_format_with_the_same_bytes_is_another(rig):
    bayer = [one for one in PixelFormat if one.value.startswith("bayer") and one.bits == 8][:2]
    one = raw_picture(bayer[0], (64, 48))
    other = type(one)(one.data, bayer[1])
    rig.static.keep(one, "m", FOUND)
    assert rig.static.known(one, "m") is FOUND
    assert rig.static.known(other, "m") is None
    assert rig.static.known(one.data, "m") is None
