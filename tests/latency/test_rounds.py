"""Jobs in their rhythm."""

import threading
from functools import partial

import pytest

from app.latency.rounds import Job, Rounds, Schedule

S = 1_000_000_000


def job(name, every_s):
    return Job(name, every_s, lambda: None)


def test_every_job_keeps_its_own_rhythm_without_drifting():
    schedule = Schedule([job("a", 1), job("b", 2.5)], 0)
    done = []
    for at_ns in range(0, 10 * S, S // 8):
        done += [(round(at_ns / S, 2), due.name) for due in schedule.take_due(at_ns + 7)]
    assert [at for at, name in done if name == "a"] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert [at for at, name in done if name == "b"] == [2.5, 5, 7.5]


def test_times_that_were_missed_are_not_made_up_for():
    schedule = Schedule([job("a", 10)], 0)
    assert [due.name for due in schedule.take_due(47 * S)] == ["a"]
    assert schedule.take_due(49 * S) == []
    assert schedule.wait_s(49 * S) == 1
    assert schedule.wait_s(60 * S) == 0


def test_a_job_that_fails_ends_neither_the_thread_nor_the_other_jobs(caplog):
    twice = threading.Event()
    times = []

    def fail():
        raise RuntimeError("no figures today")

    def count():
        times.append(threading.current_thread())
        if len(times) == 2:
            twice.set()

    with Rounds("rounds", [Job("first", 0.01, fail), Job("second", 0.01, count)]):
        assert twice.wait(20)
    assert (times[0].name, times[0].daemon) == ("rounds", False)
    assert not times[0].is_alive()
    assert "first could not be done" in caplog.text


def test_each_job_waits_for_a_good_moment():
    done, both = [], threading.Event()

    def do(name):
        done.append(name)
        if len(done) >= 4:
            both.set()

    jobs = [Job(name, 0.01, partial(do, name)) for name in ("first", "second")]
    with Rounds("rounds", jobs, lambda: done.append("moment")):
        assert both.wait(20)
    assert done[:4] == ["moment", "first", "moment", "second"]


@pytest.mark.parametrize("every_s", [0.01, 3600])
def test_leaving_does_not_wait_for_the_next_time(every_s):
    with Rounds("rounds", [job("a", every_s)]) as rounds:
        pass
    assert not rounds._thread.is_alive()
    rounds.__exit__(None, None, None)
