"""Time stamps that do not go on."""

import numpy as np
import pytest

from app.capture.guard import Guard
from app.capture.stamps import HANG_AFTER
from app.config.sections import Guard as GuardSection
from app.frame import Picture
from app.verdict import Code

MS = 1_000_000


def run(*times_ms: tuple[float, float], live: bool = True, **keys) -> list:
    """Return the codes of pictures that differ, exposed and arrived at these times."""
    guard = Guard(GuardSection(**keys), live)
    random, found = np.random.default_rng(1), []
    for exposed_ms, arrived_ms in times_ms:
        data = random.integers(60, 180, (24, 32, 3), np.uint8)
        found.append(guard.check(Picture(data, int(exposed_ms * MS), int(arrived_ms * MS))))
    return [reason and reason.code for reason in found]


@pytest.mark.parametrize(
    ("times_ms", "codes"),
    [
        ([(0, 1), (33, 34), (67, 68)], [None, None, None]),
        ([(0, 1), (0, 34)], [None, Code.STALE]),  # the driver gave the same moment again
        ([(0, 1), (0, 2)], [None, None]),  # two pictures out of one packet
        ([(50, 51), (33, 84), (66, 117)], [None, Code.STALE, None]),  # an old buffer
        ([(0, 2500), (2480, 2533)], [Code.STALE, None]),  # it had waited for long
        ([(900, 10), (40, 41), (70, 71)], [None, None, None]),  # one stamp out of the future spoils no other
    ],
)
def test_an_old_picture_is_stale(times_ms, codes):
    assert run(*times_ms) == codes
    assert run(*times_ms, live=False) == [None] * len(codes), "files have no such times"
    assert run(*times_ms, stamps=False) == [None] * len(codes)


def test_cam_08_a_triggered_camera_refuses_one_repeated_picture_and_long_gaps_are_no_fault():
    guard = Guard(GuardSection(triggered=True), live=True)
    first, second = (np.random.default_rng(seed).integers(60, 180, (24, 32, 3), np.uint8) for seed in (1, 2))
    hours_ns = 3_600_000_000_000
    pictures = [Picture(first, 0, 0), Picture(second, hours_ns, hours_ns), Picture(second, 2 * hours_ns, 2 * hours_ns)]
    assert [reason and reason.code for reason in map(guard.check, pictures)] == [None, None, Code.FROZEN]
    assert guard.patience_s(None) is guard.patience_s(30.0) is None


@pytest.mark.parametrize(
    ("keys", "live", "fps", "patience_s"),
    [
        ({}, True, None, 5.0),  # not known yet
        ({}, True, 30.0, 2.0),  # a short gap is nothing to tell
        ({}, True, 0.5, 10.0),  # five pictures long
        ({"stale_s": 0.3}, True, 30.0, 0.3),
        ({"stale_s": 0.3}, False, 30.0, None),  # a file waits until it is wanted
    ],
)
def test_cam_24_how_long_a_gap_may_be_follows_from_the_measured_rate(keys, live, fps, patience_s):
    assert Guard(GuardSection(**keys), live).patience_s(fps) == patience_s


def test_a_camera_that_gives_old_pictures_for_long_has_to_be_opened_again():
    guard = Guard(GuardSection(), live=True)
    random = np.random.default_rng(1)
    for number in range(HANG_AFTER):
        assert not guard.hangs
        data = random.integers(60, 180, (24, 32, 3), np.uint8)
        guard.check(Picture(data, number, 3_000_000_000 + number))
    assert guard.hangs
    guard.reset()
    assert not guard.hangs
