"""What everything that watches deadlines promises, tried on all of them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from app.latency.aim import Aim
from app.latency.base import Unwatched, Watch
from app.latency.deadline import Deadline
from tests.frames import frame

HOUR_NS = 3_600_000_000_000


@pytest.fixture(params=["deadline", "unwatched"])
def watch(request: pytest.FixtureRequest) -> Iterator[Watch]:
    if request.param == "unwatched":
        yield Unwatched()
        return
    with Deadline(Aim()) as deadline:
        yield deadline


def test_a_frame_claimed_before_its_deadline_has_its_first_verdict_still_to_give(watch: Watch) -> None:
    late: list[int] = []
    for seq in range(1, 20):
        one = frame(seq)
        watch.watch(one, time.monotonic_ns() + HOUR_NS, lambda it: late.append(it.seq))
        assert watch.claim(one)
    assert late == []


def test_watching_a_frame_twice_is_watching_it_once(watch: Watch) -> None:
    one = frame()
    for _ in range(2):
        watch.watch(one, time.monotonic_ns() + HOUR_NS, lambda _: pytest.fail("it is not late"))
    assert watch.claim(one)
