"""The threads that publish by the deadline come before all others."""

from __future__ import annotations

import errno
import logging
import os
import threading

import pytest

from app.steady.urgent import CALM_NS, Urgent


class Named:
    """A thread that runs nothing."""

    def __init__(self, name, native_id=1):
        self.name = name
        self.native_id = native_id


NAMES = [
    "MainThread",
    "inspect",
    "capture-front",
    "deadline",
    "outbox mqtt",
    "outbox jsonl",
    "mqtt taktsight-7",
    "evidence",
]


def threads():
    return [Named(name, number) for number, name in enumerate(NAMES)] + [Named("mqtt ended", None)]


class Clock:
    now_ns = 0

    def __call__(self):
        return self.now_ns


@pytest.fixture
def set_to(monkeypatch):
    """Which threads were given which class and priority, in order."""
    calls = []

    def note(tid, policy, parameter):
        name = {os.SCHED_FIFO: "first", os.SCHED_OTHER: "as others"}[policy & ~os.SCHED_RESET_ON_FORK]
        calls.append((NAMES[tid], name, parameter.sched_priority))

    monkeypatch.setattr(os, "sched_setscheduler", note)
    return calls


def test_the_timer_comes_first_always_and_the_way_to_the_broker_while_it_is_urgent(set_to):
    clock = Clock()
    with Urgent(3, threads, clock) as urgent:
        assert set_to == [("deadline", "first", 3)]
        assert not urgent.is_hurrying
        urgent.hurry()
        urgent.hurry()
        assert set_to[1:] == [("outbox mqtt", "first", 3), ("mqtt taktsight-7", "first", 3)]
        assert urgent.is_hurrying
        urgent.calm()
        assert urgent.is_hurrying, "it was urgent a moment ago"
        clock.now_ns += CALM_NS + 1
        urgent.calm()
        urgent.calm()
        assert set_to[3:] == [("outbox mqtt", "as others", 0), ("mqtt taktsight-7", "as others", 0)]
        assert not urgent.is_hurrying


def test_what_is_urgent_again_and_again_stays_first(set_to):
    clock = Clock()
    with Urgent(1, threads, clock) as urgent:
        for _ in range(5):
            urgent.hurry()
            clock.now_ns += CALM_NS
            urgent.calm()
        assert len(set_to) == 3
        assert urgent.is_hurrying


def test_null_leaves_them_as_they_are(set_to):
    with Urgent(None, threads) as urgent:
        urgent.hurry()
        urgent.calm()
        assert urgent.is_hurrying, "nothing could be more urgent than it is"
    assert set_to == []


def test_threads_are_left_alone_once_their_owners_may_have_ended(set_to):
    with Urgent(1, threads) as urgent:
        pass
    urgent.hurry()
    assert set_to == [("deadline", "first", 1)]


def test_where_it_is_not_allowed_the_service_runs_on_and_says_once_what_would_allow_it(monkeypatch, caplog):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with caplog.at_level(logging.INFO), Urgent(1, threads) as urgent:
        urgent.hurry()
        assert urgent.is_hurrying
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "LimitRTPRIO=1 in the unit allows it" in caplog.text


def test_a_real_thread_is_raised_and_put_back_or_left_as_it_was(caplog):
    done = threading.Event()
    real = [threading.Thread(target=done.wait, name=name) for name in ("deadline", "outbox mqtt")]
    for thread in real:
        thread.start()
    timer, way = real
    clock = Clock()

    def policy(thread):
        return os.sched_getscheduler(thread.native_id) & ~os.SCHED_RESET_ON_FORK

    with caplog.at_level(logging.INFO), Urgent(1, now_ns=clock) as urgent:
        seen = [policy(timer), policy(way)]
        urgent.hurry()
        seen.append(policy(way))
        clock.now_ns += CALM_NS + 1
        urgent.calm()
        seen.append(policy(way))
    done.set()
    for thread in real:
        thread.join()
    first = os.SCHED_OTHER if caplog.records else os.SCHED_FIFO
    assert seen == [first, os.SCHED_OTHER, first, os.SCHED_OTHER]
