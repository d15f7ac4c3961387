"""Whose turn it is: with made-up times, no clock and no broker."""

import pytest

from app.publish.credits import SILENT_NS, UNANSWERED_NS, Credits

MS = 1_000_000


@pytest.fixture
def credits():
    one = Credits(100 * MS, 2)
    assert one.ask("panel", 0)
    return one


def test_nobody_gets_a_picture_before_the_last_one_is_shown(credits):
    assert credits.ready(1, 0) == ["panel"]
    credits.sent("panel", "a", 1, 0)
    assert credits.ready(2, 200 * MS) == []
    assert credits.shown("panel", "a", 200 * MS) == 0
    assert credits.ready(2, 200 * MS) == ["panel"]


def test_nobody_gets_a_picture_twice(credits):
    credits.sent("panel", "a", 1, 0)
    credits.shown("panel", "a", 1)
    assert credits.ready(1, 500 * MS) == []


def test_a_picture_without_an_answer_is_lost_after_a_while(credits):
    credits.sent("panel", "a", 1, 0)
    assert credits.ready(2, UNANSWERED_NS - 1) == []
    assert credits.ready(2, UNANSWERED_NS) == ["panel"]
    credits.sent("panel", "b", 2, UNANSWERED_NS)
    assert credits.shown("panel", "a", UNANSWERED_NS + 1) is None, "an answer that comes after all gives no credit"


def test_the_rate_is_kept_although_the_thread_wakes_late_each_time(credits):
    sent = []
    for now_ns in range(0, 10_000 * MS, 7 * MS):
        if credits.ready(len(sent) + 1, now_ns):
            credits.sent("panel", str(len(sent)), len(sent) + 1, now_ns)
            credits.shown("panel", str(len(sent)), now_ns)
            sent.append(now_ns)
    assert len(sent) in (100, 101)


def test_who_is_silent_makes_room(credits):
    assert credits.ask("tablet", SILENT_NS)
    assert not credits.ask("third", SILENT_NS), "both are there"
    assert credits.ask("third", SILENT_NS + 1)
    assert credits.watchers == 2
    assert credits.shown("panel", "a", SILENT_NS + 1) is None, "it is gone"


def test_who_answers_is_not_silent(credits):
    credits.sent("panel", "a", 1, 0)
    credits.shown("panel", "a", SILENT_NS)
    credits.forget(2 * SILENT_NS)
    assert credits.watchers == 1


def test_who_leaves_is_forgotten_twice_over(credits):
    credits.leave("panel")
    credits.leave("panel")
    assert (credits.watchers, credits.ready(1, 0)) == (0, [])
