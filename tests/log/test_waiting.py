"""Lines wait within bounds, and what matters has room the longest."""

import logging
import threading

import pytest

from app.log.line import Line
from app.log.waiting import Waiting


def line(level: int = logging.INFO) -> Line:
    return Line(0, level, "app", "x", {})


@pytest.mark.parametrize(
    ("put", "room"),
    [
        (lambda waiting: waiting.put(line(logging.DEBUG)), 50),  # details first make room
        (lambda waiting: waiting.put(line(logging.INFO)), 75),
        (lambda waiting: waiting.put(line(logging.WARNING)), 100),
        (lambda waiting: waiting.put(line(logging.ERROR)), 100),
    ],
)
def test_the_fuller_it_is_the_more_a_line_must_matter(put, room) -> None:
    waiting = Waiting(100)
    taken = [put(waiting) for _ in range(120)]
    assert taken == [True] * room + [False] * (120 - room)
    assert waiting.dropped() == 120 - room
    assert waiting.load() == room / 100


def test_drops_are_counted_right_from_many_threads() -> None:
    waiting = Waiting(16)
    threads = [threading.Thread(target=lambda: [waiting.put(line()) for _ in range(500)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = len(list(waiting.take(10_000)))
    assert taken + waiting.dropped() == 4000
    assert 12 <= taken <= 12 + 8, "the bound may be passed by one for each thread"
    assert waiting.dropped() == 4000 - taken, "looking does not count"


def test_lines_come_out_in_order_and_a_batch_at_a_time() -> None:
    waiting = Waiting(100)
    for number in range(5):
        waiting.put(Line(number, logging.INFO, "app", "x", {}))
    assert [taken.utc_ns for taken in waiting.take(3)] == [0, 1, 2]
    assert [taken.utc_ns for taken in waiting.take(3)] == [3, 4]
    assert list(waiting.take(3)) == []
