"""The clock of a camera that is made up."""

import pytest

from app.capture.ticker import Ticker

SECOND_NS = 1_000_000_000


class Clock:
    """A monotonic clock that only sleeping and the test move."""

    def __init__(self):
        self.now_ns = 5 * SECOND_NS

    def read(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float):
        self.now_ns += round(seconds * SECOND_NS)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_paced_clock_gives_pictures_at_their_ideal_times(clock):
    ticker = Ticker(3.0, True, clock.read, clock.sleep)
    ticks = [ticker.tick(1.0) for _ in range(31)]
    assert [index for index, _ in ticks] == list(range(31))
    assert ticks[-1][1] - ticks[0][1] == 10 * SECOND_NS, "no drift"


def test_nothing_is_given_before_it_is_due(clock):
    ticker = Ticker(1.0, True, clock.read, clock.sleep)
    assert ticker.tick(0.1) is not None
    assert ticker.tick(0.1) is None
    assert clock.now_ns == 5 * SECOND_NS + SECOND_NS // 10


def test_a_late_reader_gets_the_newest_picture_and_the_missed_ones_are_counted(clock):
    ticker = Ticker(10.0, True, clock.read, clock.sleep)
    ticker.tick(1.0)
    clock.sleep(0.55)
    assert ticker.tick(1.0) == (5, 5 * SECOND_NS + SECOND_NS // 2)
    assert ticker.missed == 4
    assert ticker.tick(1.0) == (6, 5 * SECOND_NS + 6 * SECOND_NS // 10)


def test_an_unpaced_clock_never_waits_and_misses_nothing(clock):
    ticker = Ticker(10.0, False, clock.read, clock.sleep)
    assert [ticker.tick(0.0) for _ in range(3)] == [(0, 5 * SECOND_NS), (1, 5 * SECOND_NS), (2, 5 * SECOND_NS)]
    clock.sleep(9.0)
    assert ticker.tick(0.0) == (3, 14 * SECOND_NS)
    assert ticker.missed == 0


def test_starting_again_begins_at_picture_0(clock):
    ticker = Ticker(10.0, True, clock.read, clock.sleep)
    ticker.tick(1.0)
    ticker.tick(1.0)
    ticker.start()
    assert ticker.tick(1.0) == (0, clock.now_ns)
