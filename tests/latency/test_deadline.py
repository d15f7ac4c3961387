"""UNKNOWN/late by the deadline, and one first verdict for each frame whoever is faster."""

from __future__ import annotations

import gc
import logging
import random
import threading
import time
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.latency.aim import Aim
from app.latency.deadline import MOST_EARLY, Deadline
from tests.frames import frame

MS = 1_000_000
WAIT_S = 20


class Still:
    """An aim that never learns."""

    def __init__(self, lead_ms=0.0):
        self.lead_ms = lead_ms
        self.woken = []

    def woke(self, late_ms):
        self.woken.append(late_ms)


class Clock:
    def __init__(self):
        self.now_ns = 0

    def __call__(self):
        return self.now_ns


def test_what_is_due_is_said_once_and_not_before():
    clock, said = Clock(), []
    deadline = Deadline(Still(), clock)
    deadline.watch(frame(1, exposed_ns=0), 100 * MS, said.append)
    clock.now_ns = 99 * MS
    assert deadline.speak_due() == 100 * MS
    assert said == []
    clock.now_ns = 100 * MS
    assert deadline.speak_due() is None
    deadline.speak_due()
    assert [late.seq for late in said] == [1]


def test_the_earliest_is_said_first_whichever_was_watched_first():
    clock, said = Clock(), []
    deadline = Deadline(Still(), clock)
    for seq, due_ms in ((1, 300), (2, 100), (3, 200)):
        deadline.watch(frame(seq, exposed_ns=0), due_ms * MS, said.append)
    clock.now_ns = 1000 * MS
    deadline.speak_due()
    assert [late.seq for late in said] == [2, 3, 1]


def test_it_aims_early_but_leaves_three_quarters_of_the_budget():
    deadline = Deadline(Still(lead_ms=7), Clock())
    deadline.watch(frame(1, exposed_ns=0), 100 * MS, print)
    assert deadline.speak_due() == 93 * MS
    deadline = Deadline(Still(lead_ms=7000), Clock())
    deadline.watch(frame(1, exposed_ns=0), 100 * MS, print)
    assert deadline.speak_due() == (100 - 100 // MOST_EARLY) * MS


def test_a_frame_that_is_claimed_in_time_is_never_late():
    clock, said = Clock(), []
    deadline = Deadline(Still(), clock)
    one = frame(1, exposed_ns=0)
    deadline.watch(one, 100 * MS, said.append)
    assert deadline.claim(one)
    clock.now_ns = 1000 * MS
    deadline.speak_due()
    assert said == []
    assert deadline.watched == 0


class Told:
    """An urgency that notes what it is told."""

    def __init__(self):
        self.calls = []

    def hurry(self):
        self.calls.append("hurry")

    def calm(self):
        self.calls.append("calm")


@pytest.mark.parametrize(
    ("claimed_ms", "calls"),
    [
        (50, []),  # in time
        (90, []),  # with 10 ms left
        (91, ["hurry"]),  # at the last moment
        (100, ["hurry"]),  # due, and nobody has spoken
    ],
)
def test_a_verdict_at_the_last_moment_is_urgent(claimed_ms, calls):
    clock, told = Clock(), Told()
    deadline = Deadline(Still(), clock, told)
    one = frame(1, exposed_ns=0)
    deadline.watch(one, 100 * MS, pytest.fail)
    clock.now_ns = claimed_ms * MS
    assert deadline.claim(one)
    assert told.calls == calls


def test_late_is_urgent_before_it_is_said():
    clock, told = Clock(), Told()
    deadline = Deadline(Still(), clock, told)
    deadline.watch(frame(1, exposed_ns=0), 100 * MS, lambda _: told.calls.append("said"))
    clock.now_ns = 100 * MS
    deadline.speak_due()
    assert told.calls == ["hurry", "said"]


def test_the_thread_calms_down_between_two_deadlines():
    calmed = threading.Event()
    told = Told()
    told.calm = calmed.set
    with Deadline(Aim(), urgency=told):
        assert calmed.wait(WAIT_S)


def test_the_thread_does_not_wake_for_a_frame_that_is_claimed():
    deadline = Deadline(Still(), Clock())
    for seq in (1, 2, 3, 4):
        deadline.watch(frame(seq, exposed_ns=0), seq * 100 * MS, print)
    for seq in (1, 2, 4):
        assert deadline.claim(frame(seq, exposed_ns=0))
    assert deadline.speak_due() == 300 * MS
    assert deadline.claim(frame(3, exposed_ns=0))
    assert deadline.speak_due() is None


def test_a_frame_that_was_late_can_not_be_claimed_and_is_forgotten_then():
    clock, said = Clock(), []
    deadline = Deadline(Still(), clock)
    one = frame(1, exposed_ns=0)
    deadline.watch(one, 100 * MS, said.append)
    clock.now_ns = 100 * MS
    deadline.speak_due()
    assert not deadline.claim(one)
    assert deadline.watched == 0


def test_a_frame_watched_twice_is_watched_once():
    clock, said = Clock(), []
    deadline = Deadline(Still(), clock)
    one = frame(1, exposed_ns=0)
    deadline.watch(one, 100 * MS, said.append)
    deadline.watch(one, 50 * MS, said.append)
    clock.now_ns = 100 * MS
    deadline.speak_due()
    deadline.watch(one, 100 * MS, said.append)
    deadline.speak_due()
    assert len(said) == 1


def test_frames_of_two_cameras_with_one_number_are_two():
    clock, said = Clock(), []
    deadline = Deadline(Still(), clock)
    left, right = frame(1, "left", 0), frame(1, "right", 0)
    for one in (left, right):
        deadline.watch(one, 100 * MS, said.append)
    assert deadline.claim(left)
    clock.now_ns = 100 * MS
    deadline.speak_due()
    assert [late.camera for late in said] == ["right"]


def test_a_claimed_frame_lets_go_of_its_picture_before_its_time():
    deadline = Deadline(Still(), Clock())
    one = frame(1, exposed_ns=0)
    deadline.watch(one, 100 * MS, print)
    deadline.claim(one)
    picture = weakref.ref(one.picture.image_hwc)
    del one
    gc.collect()
    assert picture() is None


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("watch"), st.integers(1, 8)),
        st.tuples(st.just("claim"), st.integers(1, 8)),
        st.tuples(st.just("advance"), st.integers(1, 60)),
        st.tuples(st.just("speak"), st.just(0)),
    ),
    max_size=60,
)


@given(STEPS)
def test_in_any_order_of_events_each_frame_has_one_first_verdict_and_by_its_deadline(steps):
    clock, late, claimed = Clock(), [], []
    deadline = Deadline(Still(), clock)
    open_frames, due, used = {}, {}, 0
    for what, number in steps:
        if what == "watch" and number not in open_frames:
            used += 1
            open_frames[number] = frame(used, exposed_ns=clock.now_ns)
            due[used] = clock.now_ns + 100 * MS
            deadline.watch(open_frames[number], due[used], lambda one: late.append((one.seq, clock.now_ns)))
        elif what == "claim" and number in open_frames:
            one = open_frames.pop(number)
            if deadline.claim(one):
                claimed.append(one.seq)
        elif what == "advance":
            clock.now_ns += number * MS
        elif what == "speak":
            deadline.speak_due()
            gone = {seq for seq, at_ns in due.items() if at_ns <= clock.now_ns}
            assert gone <= {seq for seq, _ in late} | set(claimed), "nothing is overdue once it has spoken"
    clock.now_ns += 1000 * MS
    deadline.speak_due()
    first = [seq for seq, _ in late] + claimed
    assert sorted(first) == list(range(1, used + 1)), "each frame once, by one of both"
    assert all(at_ns >= due[seq] for seq, at_ns in late)
    for one in open_frames.values():
        assert not deadline.claim(one)
    assert deadline.watched == 0


# ── with its thread ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_thread_speaks_while_everybody_else_hangs():
    heard = threading.Event()
    with Deadline(Aim()) as deadline:
        began_ns = time.monotonic_ns()
        deadline.watch(frame(1), began_ns + 50 * MS, lambda _: heard.set())
        assert heard.wait(WAIT_S)
        assert time.monotonic_ns() - began_ns >= 37 * MS, "not before three quarters"


def test_a_frame_that_is_due_sooner_wakes_a_thread_that_waits_for_a_later_one():
    heard = []
    done = threading.Event()
    with Deadline(Aim()) as deadline:
        now_ns = time.monotonic_ns()
        deadline.watch(frame(1), now_ns + 100_000 * MS, heard.append)
        deadline.watch(frame(2), now_ns + 20 * MS, lambda one: (heard.append(one), done.set()))
        assert done.wait(WAIT_S)
    assert [late.seq for late in heard] == [2], "and what is still watched at the end is not said"


def test_a_claim_waits_until_the_timer_has_spoken_so_that_revision_2_is_never_first():
    speaking, go_on, order = threading.Event(), threading.Event(), []

    def speak(_):
        speaking.set()
        go_on.wait(WAIT_S)
        order.append("rev 1")

    def verdict():
        order.append("rev 2" if not deadline.claim(one) else "rev 1")

    one = frame(1)
    with Deadline(Aim()) as deadline:
        deadline.watch(one, time.monotonic_ns(), speak)
        assert speaking.wait(WAIT_S)
        thread = threading.Thread(target=verdict)
        thread.start()
        go_on.set()
        thread.join(WAIT_S)
    assert order == ["rev 1", "rev 2"]


def test_hundreds_of_races_at_the_deadline_have_one_winner_each():
    first = []
    chance = random.Random(3)
    with Deadline(Aim()) as deadline:
        for seq in range(1, 401):
            one = frame(seq)
            deadline.watch(one, time.monotonic_ns() + 2 * MS, lambda late: first.append(late.seq))
            time.sleep(chance.uniform(0.001, 0.003))
            if deadline.claim(one):
                first.append(one.seq)
    assert sorted(first) == list(range(1, 401))
    assert deadline.watched == 0


def test_a_frame_that_can_not_be_published_takes_the_deadline_from_no_other(caplog):
    heard = threading.Event()

    def broken(_):
        raise RuntimeError("no room")

    with caplog.at_level(logging.ERROR), Deadline(Aim()) as deadline:
        deadline.watch(frame(1), time.monotonic_ns(), broken)
        deadline.watch(frame(2), time.monotonic_ns() + 5 * MS, lambda _: heard.set())
        assert heard.wait(WAIT_S)
    assert "frame 1: UNKNOWN/late could not be published" in caplog.text


def test_it_learns_how_late_it_wakes():
    aim, heard = Still(), threading.Event()
    with Deadline(aim) as deadline:
        deadline.watch(frame(1), time.monotonic_ns() + 20 * MS, lambda _: heard.set())
        assert heard.wait(WAIT_S)
    assert len(aim.woken) == 1
    assert aim.woken[0] >= 0


def test_the_thread_ends_with_it_and_has_a_name_of_its_own():
    with Deadline(Aim()):
        assert "deadline" in {thread.name for thread in threading.enumerate()}
    assert "deadline" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize("frames", [0, 3])
def test_leaving_does_not_wait_for_frames_that_are_not_due(frames):
    with Deadline(Aim()) as deadline:
        for seq in range(frames):
            deadline.watch(frame(seq), time.monotonic_ns() + 3600_000 * MS, print)
        began_s = time.monotonic()
    assert time.monotonic() - began_s < WAIT_S
