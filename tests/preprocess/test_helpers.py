"""Work shared out between the inspect thread and those that help it."""

import os
import threading

import pytest

from app.preprocess.helpers import Helpers

WAIT_S = 20.0


def test_parts_are_done_at_the_same_time_and_given_in_their_order():
    together = threading.Barrier(3)

    def part(number):
        together.wait(WAIT_S)  # passed only by three at once
        return number, threading.current_thread().name

    with Helpers(2) as helpers:
        given = helpers.share_out([lambda number=number: part(number) for number in range(3)])
    assert [number for number, _ in given] == [0, 1, 2]
    assert given[0][1] == threading.current_thread().name
    assert {name.partition("_")[0] for _, name in given[1:]} == {"inspect"}


@pytest.mark.parametrize("count", [0, 1])
def test_who_has_no_helpers_does_all_by_itself(count):
    here = threading.current_thread().name
    for helpers in (Helpers(0), Helpers(count)):  # the second one was not entered
        assert helpers.share_out([lambda: threading.current_thread().name] * 3) == [here] * 3


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_fault_is_raised_when_all_have_ended(failing):
    ended = []

    def part(number):
        if number == failing:
            raise ValueError(str(number))
        ended.append(number)

    with Helpers(2) as helpers:
        with pytest.raises(ValueError, match=str(failing)):
            helpers.share_out([lambda number=number: part(number) for number in range(3)])
        assert sorted(ended) == [number for number in range(3) if number != failing]


def test_the_threads_end_with_it_and_leaving_twice_is_safe():
    before = set(threading.enumerate())
    with Helpers(1) as helpers:
        helpers.share_out([int, int])
        assert len(set(threading.enumerate()) - before) == 1
    assert set(threading.enumerate()) == before
    helpers.__exit__(None, None, None)
    assert helpers.share_out([int, int]) == [0, 0]


def test_helpers_run_where_the_thread_runs_that_asks():
    cpu = min(os.sched_getaffinity(0))
    found = []

    def inspect():
        os.sched_setaffinity(0, {cpu})
        with Helpers(1) as helpers:
            found.extend(helpers.share_out([lambda: os.sched_getaffinity(0)] * 2))

    thread = threading.Thread(target=inspect)
    thread.start()
    thread.join(WAIT_S)
    assert found == [{cpu}, {cpu}]
