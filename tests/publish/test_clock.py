"""The wall clock labels results; it may jump, and nothing else jumps with it."""

import pytest

from app.publish.clock import NOTE_NS, UtcClock, iso_utc

SECOND = 1_000_000_000
BOOT = 1_700_000_000 * SECOND


class Clocks:
    """Two clocks that a test moves."""

    def __init__(self):
        self.mono = 5 * SECOND
        self.wall = BOOT

    def tick(self, ns, slew=1.0):
        self.mono += ns
        self.wall += int(ns * slew)


@pytest.fixture
def clocks():
    return Clocks()


@pytest.fixture
def clock(clocks):
    return UtcClock(lambda: clocks.mono, lambda: clocks.wall)


def test_a_time_is_labelled_with_the_wall_clock_of_its_moment(clocks, clock):
    exposed_ns = clocks.mono
    clocks.tick(40_000_000)
    assert clock.label(exposed_ns) == (BOOT, "ok")


@pytest.mark.parametrize("step_s", [-7200, 86400])
def test_ops_05_a_step_of_the_wall_clock_is_noted_and_changes_labels_only(clocks, clock, step_s):
    exposed_ns = clocks.mono
    clocks.tick(20_000_000)
    clocks.wall += step_s * SECOND
    label = clock.label(exposed_ns)
    assert label == (BOOT + step_s * SECOND, "step")
    clocks.tick(NOTE_NS)
    assert clock.now().note == "ok"


def test_ops_05_a_clock_that_ntp_turns_slowly_is_no_step(clocks, clock):
    clocks.tick(3600 * SECOND, slew=1.0005)
    assert clock.now().note == "ok"


@pytest.mark.parametrize(
    ("utc_ns", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (BOOT + 7_999_999, "2023-11-14T22:13:20.007Z"),  # cut, not rounded
        (-5 * SECOND, "1970-01-01T00:00:00.000Z"),  # a board without a battery, set before 1970
    ],
)
def test_utc_is_written_with_milliseconds_and_z(utc_ns, text):
    assert iso_utc(utc_ns) == text
