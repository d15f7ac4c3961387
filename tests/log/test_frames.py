"""A frame that went wrong always has its line; of the others as many as they may cost."""

import pytest

from app.log.frames import Bucket, FrameLog
from app.verdict import Verdict


@pytest.fixture
def lines() -> list:
    return []


def frame_log(lines: list, *, load: float = 0.0, per_s: float = 1.0, taken: bool = True) -> FrameLog:
    return FrameLog(lambda line: bool(lines.append(line)) or taken, lambda: load, per_s)


def test_of_good_frames_only_the_first_of_a_second_has_a_line(lines, outcome_of) -> None:
    log = frame_log(lines)
    for seq in range(1, 6):
        log.judged(outcome_of(seq=seq))
    (line,) = lines
    assert not line.kept
    fields = line.fields()
    assert fields["trace_id"] == "run-covers-000001"
    assert (fields["camera"], fields["verdict"], fields["budget_ms"]) == ("covers", "OK", 100.0)
    assert "stages_ms" not in fields, "details are for frames that went wrong"


@pytest.mark.parametrize(
    ("verdict", "age_ms", "skipped"),
    [
        (Verdict.NG, 10, ()),
        (Verdict.UNKNOWN, 10, ()),
        (Verdict.OK, 150, ()),  # over the budget
        (Verdict.OK, 10, ("refine",)),  # looked at with less than the full effort
    ],
)
def test_what_went_wrong_is_always_told_in_detail(verdict, age_ms, skipped, lines, outcome_of) -> None:
    log = frame_log(lines, per_s=0, load=1.0)
    for seq in range(1, 6):
        log.judged(outcome_of(verdict, age_ms=age_ms, seq=seq, skipped=skipped))
    assert len(lines) == 5
    assert all(line.kept for line in lines)
    fields = lines[0].fields()
    assert fields["stages_ms"] == {"capture": 2.0}
    assert fields["size_wh"] == (640, 480)
    assert ("over_ms" in fields) == (age_ms == 150)
    assert fields["reasons"] == ([] if verdict is Verdict.OK else ["forbidden: hole at 120, 44"])


def test_what_the_outbox_adds_later_does_not_change_the_line(lines, outcome_of) -> None:
    outcome = outcome_of(Verdict.NG)
    frame_log(lines).judged(outcome)
    outcome.trace.add("publish", outcome.trace.ended_ns, outcome.trace.ended_ns + 5_000_000)
    assert lines[0].fields()["stages_ms"] == {"capture": 2.0}


def test_a_good_frame_s_line_says_how_many_were_left_out_before_it(lines, outcome_of) -> None:
    log = frame_log(lines, per_s=3.0)
    for seq in range(1, 8):
        log.judged(outcome_of(seq=seq))
    assert [line.fields().get("left_out") for line in lines] == [None, None, None]
    log._bucket = Bucket(1.0)
    log.judged(outcome_of(seq=8))
    assert lines[-1].fields()["left_out"] == 4


def test_a_line_that_found_no_room_counts_as_left_out(lines, outcome_of) -> None:
    log = frame_log(lines, per_s=100.0, taken=False)
    for seq in range(1, 4):
        log.judged(outcome_of(seq=seq))
    assert [line.fields().get("left_out", 0) for line in lines] == [0, 1, 2]


def test_tokens_come_at_their_rate_and_more_slowly_under_load() -> None:
    second = 1_000_000_000
    for share, expected in ((1.0, 20), (0.5, 10), (0.0, 0)):
        bucket = Bucket(2.0)
        start = bucket._filled_ns
        while bucket.take(start, 1.0):
            pass
        taken = sum(bucket.take(start + step * second // 10, share) for step in range(1, 101))
        assert taken == pytest.approx(expected, abs=1)


def test_zero_a_second_is_never() -> None:
    bucket = Bucket(0)
    assert not any(bucket.take(bucket._filled_ns + second * 10**9, 1.0) for second in range(100))
