"""What the demo's table shows of parts that were late."""

from __future__ import annotations

from app.board import Board, part_cells
from app.detections import Detections
from app.trace import Trace
from app.verdict import Code, Judgement, Outcome, Reason, Verdict

SHARES_MS = {"inference": 35.0}


def outcome(seq, *, rev=1, part=None, late=False, level="full"):
    reasons = () if rev > 1 else (Reason(Code.LATE, "no verdict yet: inference, 96 of 100 ms after the exposure"),)
    verdict = Verdict.OK if rev > 1 else Verdict.UNKNOWN
    return Outcome(
        trace_id=f"run-{seq}",
        camera="covers",
        seq=seq,
        judgement=Judgement(verdict, reasons),
        size_wh=(6, 4),
        detections=Detections.none(),
        trace=Trace(f"run-{seq}", 0),
        budget_ms=100.0,
        captured_utc_ns=0,
        rev=rev,
        part=part,
        late=late,
        level=level,
    )


def test_a_second_revision_takes_the_place_of_the_first_and_says_that_it_was_late():
    board = Board(100.0, SHARES_MS)
    board.judged(outcome(1))
    assert [str(cell) for cell in part_cells(board.outcomes[0], SHARES_MS)][:2] == ["#1", "UNKNOWN"]
    board.judged(outcome(1, rev=2, part=7, late=True))
    (only,) = board.parts()
    assert [str(cell) for cell in part_cells(only, SHARES_MS)][:3] == ["7", "OK", "late, UNKNOWN was said before"]
    assert board.outcomes == [only]


def test_a_late_frame_of_no_part_is_shown_but_is_no_part():
    board = Board(100.0, SHARES_MS)
    board.judged(outcome(1, level="late"))
    assert len(board.outcomes) == 1
    assert board.parts() == []


def test_a_level_below_full_is_named():
    assert "level small_input" in str(part_cells(outcome(1, rev=2, level="small_input"), SHARES_MS)[2])


def test_a_stage_that_took_more_than_its_share_is_red():
    late = outcome(1)
    late.trace.add("inference", 0, 36_000_000)
    late.trace.add("judge", 36_000_000, 99_000_000)
    cells = {str(cell): str(cell.style) for cell in part_cells(late, SHARES_MS)[3:]}
    assert cells["36.0"] == "red", "over its 35 ms"
    assert cells["63.0"] == "", "this one has no share here"
