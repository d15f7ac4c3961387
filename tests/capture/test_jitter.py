"""How evenly pictures arrive, and how long they may wait for one another."""

from collections.abc import Iterator
from threading import Condition

import numpy as np
import pytest

from app.capture.jitter import REST_NS, WARM_UP, Jitter, JitterBuffer
from app.latest import Slot
from tests.frames import frame

MS = 1_000_000
PERIOD = 20 * MS


def even(count: int, noise_ms: float = 0.0, begin: int = 0) -> Iterator[int]:
    """Arrivals one period apart, off by some noise."""
    random = np.random.default_rng(1)
    yield from (begin + number * PERIOD + round(random.uniform(-noise_ms, noise_ms) * MS) for number in range(count))


def bursts(count: int, size: int = 3, begin: int = 0) -> Iterator[int]:
    """Arrivals at the same rate, but so many at a time, half a millisecond apart."""
    for number in range(count):
        yield begin + number // size * size * PERIOD + number % size * MS // 2


@pytest.fixture
def changes() -> list[tuple[float, float]]:
    return []


@pytest.fixture
def buffer(changes) -> JitterBuffer:
    return JitterBuffer("auto", 200 * MS, lambda jitter_ms, wait_ms: changes.append((jitter_ms, wait_ms)))


def feed(buffer: JitterBuffer, arrivals: Iterator[int]) -> None:
    for arrived_ns in arrivals:
        buffer.add(arrived_ns)


@pytest.mark.parametrize(
    ("arrivals", "least_ms", "most_ms"),
    [
        (even(200), 0, 0.01),
        (even(200, noise_ms=2), 0.5, 2.5),  # Wi-Fi on a good day
        (bursts(300), 24, 29),  # |0.5 - 20| twice, |59 - 20| once: 26 on average
        (even(10), None, None),  # too few to know
    ],
)
def test_the_jitter_is_the_mean_deviation_from_the_usual_interval(arrivals, least_ms, most_ms) -> None:
    jitter = Jitter()
    for arrived_ns in arrivals:
        jitter.add(arrived_ns)
    if least_ms is None:
        assert jitter.jitter_ns is None
    else:
        assert least_ms <= jitter.jitter_ns / MS <= most_ms
        assert jitter.period_ns / MS == pytest.approx(20, abs=1.5)


@pytest.mark.parametrize("noise_ms", [0, 1, 2, 4])
def test_on_a_clean_link_nothing_waits(noise_ms, buffer, changes) -> None:
    feed(buffer, even(2000, noise_ms))
    assert buffer.wait_ns() == 0
    assert changes == []


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_burst_may_wait_until_about_the_next_one(size, buffer, changes) -> None:
    feed(buffer, bursts(300, size))
    assert PERIOD < buffer.wait_ns() < 1.1 * size * PERIOD
    assert len(changes) == 1
    assert changes[0][1] > 0


def test_once_the_link_is_even_again_nothing_waits_any_more(buffer, changes) -> None:
    feed(buffer, bursts(300))
    feed(buffer, even(300, noise_ms=1, begin=301 * PERIOD))
    assert buffer.wait_ns() == 0
    assert [wait_ms > 0 for _, wait_ms in changes] == [True, False]


def test_no_picture_may_wait_longer_than_its_limit(changes) -> None:
    buffer = JitterBuffer("auto", 30 * MS, lambda *change: changes.append(change))
    feed(buffer, bursts(300, size=6))
    assert buffer.wait_ns() == 30 * MS


def test_a_pause_begins_anew(buffer) -> None:
    feed(buffer, bursts(300))
    assert buffer.wait_ns() > 0
    buffer.add(300 * PERIOD + 5_000 * MS)
    assert buffer.wait_ns() == 0, "what was known of the link is forgotten"


def test_a_triggered_camera_is_no_link_that_jitters(buffer) -> None:
    feed(buffer, (number * 1_500 * MS for number in range(100)))
    assert buffer.wait_ns() == 0


def test_a_buffer_that_was_full_rests_because_inspection_is_the_slower_one(buffer) -> None:
    feed(buffer, bursts(300))
    now_ns = 300 * PERIOD
    buffer.full(now_ns)
    assert buffer.wait_ns() == 0
    feed(buffer, bursts(300, begin=now_ns))
    assert buffer.wait_ns() == 0, "6 s later"
    feed(buffer, bursts(300, begin=now_ns + REST_NS))
    assert buffer.wait_ns() > 0


@pytest.mark.parametrize(("mode", "wait_ns"), [("off", 0), (50.0, 50 * MS), (50, 50 * MS), (999.0, 200 * MS)])
def test_off_and_a_number_are_taken_as_they_are(mode, wait_ns) -> None:
    buffer = JitterBuffer(mode, 200 * MS, lambda *_: pytest.fail("nothing changes"))
    feed(buffer, bursts(300))
    buffer.full(0)
    assert buffer.wait_ns() == wait_ns


def simulate(arrivals: Iterator[int], work_ns: int, mode: str) -> tuple[int, list[int]]:
    """Let one look follow the other on a virtual clock; how many pictures were lost, and how old each was when taken."""
    bell, lost, ages, free_ns = Condition(), [], [], 0

    def overwritten(frame) -> None:
        lost.append(frame.seq)
        buffer.full(frame.picture.exposed_ns)

    buffer = JitterBuffer(mode, 200 * MS, lambda *_: None)
    slot = Slot(bell, overwritten, buffer.wait_ns)

    def look_until(now_ns: int) -> None:
        nonlocal free_ns
        while (exposed_ns := slot.oldest_exposed_ns()) is not None and (begin := max(free_ns, exposed_ns)) <= now_ns:
            with bell:
                slot.take()
            ages.append(begin - exposed_ns)
            free_ns = begin + work_ns

    for seq, arrived_ns in enumerate(arrivals, start=1):
        look_until(arrived_ns)
        buffer.add(arrived_ns)
        slot.put(frame(seq, exposed_ns=arrived_ns))
    return len(lost), ages


def test_on_a_link_that_bursts_hardly_a_picture_is_lost_and_none_gets_older_than_its_burst():
    lost_off, _ = simulate(bursts(900), 10 * MS, "off")
    lost_auto, ages = simulate(bursts(900), 10 * MS, "auto")
    assert lost_off == 300, "one in three"
    assert lost_auto <= WARM_UP
    assert max(ages) <= 2 * 10 * MS


def test_on_an_even_link_auto_changes_nothing():
    assert simulate(even(900, noise_ms=2), 10 * MS, "auto") == simulate(even(900, noise_ms=2), 10 * MS, "off")


def test_where_inspection_is_the_slower_one_pictures_do_not_get_old_but_for_a_moment():
    lost_off, ages_off = simulate(bursts(1500), 50 * MS, "off")
    lost_auto, ages = simulate(bursts(1500), 50 * MS, "auto")
    assert sum(age > max(ages_off) for age in ages) <= 12, "a few pictures in 30 s, before it rests"
    assert lost_auto <= lost_off
