"""The threads that publish by the deadline come before all others."""

from __future__ import annotations

import errno
import logging
import os
import threading

import pytest

from app.steady.urgent import Urgent


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


@pytest.fixture
def raised(monkeypatch):
    """Which threads were given which class and priority."""
    calls = []
    monkeypatch.setattr(
        os, "sched_setscheduler", lambda tid, policy, parameter: calls.append((NAMES[tid], parameter.sched_priority))
    )
    return calls


def test_the_timer_the_queue_to_the_broker_and_its_connection_are_urgent_and_nothing_else(raised):
    with Urgent(3, threads):
        assert raised == [("deadline", 3), ("outbox mqtt", 3), ("mqtt taktsight-7", 3)]


def test_null_leaves_them_as_they_are(raised):
    with Urgent(None, threads):
        assert raised == []


def test_where_it_is_not_allowed_the_service_runs_on_and_says_once_what_would_allow_it(monkeypatch, caplog):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with caplog.at_level(logging.INFO), Urgent(1, threads):
        pass
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "LimitRTPRIO=1 in the unit allows it" in caplog.text


def test_a_real_thread_is_raised_or_left_as_it_was(caplog):
    done = threading.Event()
    thread = threading.Thread(target=done.wait, name="deadline")
    thread.start()
    with caplog.at_level(logging.INFO), Urgent(1):
        policy = os.sched_getscheduler(thread.native_id) & ~os.SCHED_RESET_ON_FORK
    done.set()
    thread.join()
    assert policy == (os.SCHED_OTHER if caplog.records else os.SCHED_FIFO)
