"""A frame that went wrong always has its line; of the others as many as they may cost."""

import logging
import time

import pytest

from app.log.frames import FrameLog
from app.log.line import Line
from app.log.waiting import Waiting
from app.verdict import Verdict


class Clock:
    """Monotonic time, as the test wants it."""

    def __init__(self) -> None:
        self.now_ns = time.monotonic_ns()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("app.log.frames.time.monotonic_ns", lambda: made.now_ns)
    return made


@pytest.fixture
def waiting() -> Waiting:
    return Waiting(10_000)


def written(waiting: Waiting) -> list[dict]:
    lines = list(waiting.take(10_000))
    assert {(line.event, line.level) for line in lines} <= {("frame", logging.INFO)}
    return [line.fields for line in lines]


def test_of_good_frames_only_the_first_of_a_second_has_a_line(waiting, outcome_of) -> None:
    log = FrameLog(waiting, 1.0)
    for seq in range(1, 6):
        log.judged(outcome_of(seq=seq))
    (fields,) = written(waiting)
    assert fields["trace_id"] == "run-covers-000001"
    assert (fields["camera"], fields["verdict"], fields["budget_ms"]) == ("covers", "OK", 100.0)
    assert "stages_ms" not in fields, "details are for frames that went wrong"


@pytest.mark.parametrize(
    ("verdict", "age_ms"),
    [
        (Verdict.NG, 10),
        (Verdict.UNKNOWN, 10),
        (Verdict.OK, 150),  # over the budget
    ],
)
def test_what_went_wrong_is_always_told_in_detail(verdict, age_ms, waiting, outcome_of) -> None:
    log = FrameLog(waiting, 0)
    for seq in range(1, 6):
        log.judged(outcome_of(verdict, age_ms=age_ms, seq=seq, level="no_refine", label="3.jpg", part=7, rev=2))
    said = written(waiting)
    assert len(said) == 5
    assert said[0]["stages_ms"] == {"capture": 2.0}
    assert said[0]["size_wh"] == (640, 480)
    assert said[0]["plan"] == "no_refine"
    assert (said[0]["label"], said[0]["part"], said[0]["rev"]) == ("3.jpg", 7, 2)
    assert ("over_ms" in said[0]) == (age_ms == 150)
    assert said[0]["reasons"] == ([] if verdict is Verdict.OK else ["forbidden: hole at 120, 44"])


def test_what_went_wrong_has_room_when_the_queue_has_none_for_what_went_well(outcome_of) -> None:
    waiting = Waiting(100)
    while waiting.put(Line(0, logging.INFO, "app", "x", {})):
        pass
    log = FrameLog(waiting, 1.0)
    log.judged(outcome_of(Verdict.OK))
    log.judged(outcome_of(Verdict.NG))
    assert [line.fields.get("verdict") for line in waiting.take(200)][75:] == ["NG"]


@pytest.mark.parametrize(
    ("verdict", "room"),
    [
        (Verdict.OK, 50),  # as details of the log
        (Verdict.NG, 100),  # as long as there is any room
    ],
)
def test_what_finds_no_room_is_dropped_and_counted(verdict, room, outcome_of, clock) -> None:
    waiting = Waiting(100)
    log, outcome = FrameLog(waiting, 1000.0), outcome_of(verdict, age_ms=-1_000_000)
    for _ in range(120):
        clock.now_ns += 1_000_000_000
        log.judged(outcome)
    assert (waiting.size(), waiting.dropped()) == (room, 120 - room)


def test_what_the_outbox_adds_later_does_not_change_the_line(waiting, outcome_of) -> None:
    outcome = outcome_of(Verdict.NG)
    FrameLog(waiting, 1.0).judged(outcome)
    outcome.trace.add("publish", outcome.trace.ended_ns, outcome.trace.ended_ns + 5_000_000)
    assert written(waiting)[0]["stages_ms"] == {"capture": 2.0}


def test_a_good_frame_s_line_says_how_many_were_left_out_before_it(waiting, outcome_of, clock) -> None:
    log = FrameLog(waiting, 1.0)
    for seq in range(1, 8):
        log.judged(outcome_of(seq=seq))
    clock.now_ns += 1_000_000_001
    for outcome in (outcome_of(Verdict.NG), outcome_of(age_ms=-1000)):
        log.judged(outcome)
    assert [fields.get("left_out") for fields in written(waiting)] == [None, None, 6]


def test_a_line_that_found_no_room_counts_as_left_out(outcome_of, clock) -> None:
    waiting = Waiting(16)
    for _ in range(16):
        waiting.append(lambda: Line(0, logging.INFO, "app", "x", {}))
    log, good = FrameLog(waiting, 100.0), outcome_of(age_ms=-100_000)
    for _ in range(3):
        log.judged(good)
        clock.now_ns += 20_000_000_000
    list(waiting.take(100))
    log.judged(good)
    assert written(waiting)[0]["left_out"] == 3


@pytest.mark.parametrize(("load", "expected"), [(0.0, 20), (0.5, 10), (1.0, 1)])
def test_lines_come_at_their_rate_and_more_rarely_under_load(load, expected, waiting, outcome_of, clock) -> None:
    waiting.load = lambda: load
    log, good = FrameLog(waiting, 2.0), outcome_of(age_ms=-20_000)
    for _ in range(1000):
        clock.now_ns += 10_000_000
        log.judged(good)
    assert len(written(waiting)) == pytest.approx(expected, abs=1)


def test_zero_a_second_is_never(waiting, outcome_of, clock) -> None:
    log, good = FrameLog(waiting, 0), outcome_of(age_ms=-20_000)
    for _ in range(100):
        clock.now_ns += 100_000_000
        log.judged(good)
    assert written(waiting) == []
