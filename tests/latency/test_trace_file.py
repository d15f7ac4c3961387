"""The records of a trace file."""

import math

import pytest

from app.latency.trace_file import (
    THREADS,
    CameraBudget,
    Run,
    SystemEvent,
    decode_record,
    encode_record,
    frame_trace,
    skipped_trace,
)
from app.trace import COLUMN_OF, Trace
from tests.frames import frame


def test_every_step_has_a_thread_or_waits() -> None:
    assert set(THREADS) == set(COLUMN_OF)


def test_a_frame_comes_back_as_it_was_written(outcome) -> None:
    record = frame_trace(outcome(7, capture=2, preprocess=1, inference=20, publish=3))
    assert decode_record(encode_record(record)) == record
    assert [(span.step, span.thread, span.ms) for span in record.spans] == [
        ("capture", "capture-front", 2),
        ("preprocess", "inspect", 1),
        ("inference", "inspect", 20),
        ("publish", "outbox", 3),
    ]


def test_runs_and_events_come_back_as_they_were_written() -> None:
    run = Run(
        line="l", version="1", config="abc", started_ns=1, started_utc_ns=2, cameras={"c": CameraBudget(budget_ms=9)}
    )
    event = SystemEvent(kind="gc", text="long", began_ns=1, ended_ns=2, data={"generation": 2})
    for record in (run, event):
        assert decode_record(encode_record(record)) == record


def test_spans_stand_in_the_order_of_their_beginning(outcome) -> None:
    one = outcome(inference=20)
    one.trace.add("capture", -5, 0)
    assert [span.step for span in frame_trace(one).spans] == ["capture", "inference"]


def test_a_driver_that_dates_a_picture_after_its_arrival_gives_no_negative_time(outcome) -> None:
    one = outcome(inference=20)
    one.trace.spans.append(("capture", 50, 40))
    assert min(span.ms for span in frame_trace(one).spans) == 0


def test_a_frame_that_the_gate_passed_over_has_no_verdict_and_says_so() -> None:
    trace = Trace("t", 5)
    trace.add("capture", 5, 9)
    record = skipped_trace(frame(3), trace, budget_ms=100, captured_utc_ns=1)
    assert (record.fate, record.verdict, record.seq, record.camera) == ("skipped", None, 3, "front")
    assert decode_record(encode_record(record)) == record


def test_whatever_an_event_holds_can_be_written() -> None:
    odd = SystemEvent(kind="x", began_ns=0, ended_ns=0, data={"thing": object(), "number": math.nan, "set": {1}})
    assert decode_record(encode_record(odd)).kind == "x"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"type":"frame"}', "missing required field"),
        (b'{"type":"event","kind":"gc","began_ns":5,"ended_ns":4}', "ends before it began"),
        (b'{"type":"banana"}', "Invalid value"),
        (b'{"type":"event","kind":"gc","began_ns":5,"ended', "truncated"),
        (b"\xff\xfe", "malformed"),
        (b'{"type":"event","kind":"\xff","began_ns":5,"ended_ns":5}', "UTF-8"),
    ],
)
def test_what_is_no_record_is_refused(line: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        decode_record(line)


def test_a_key_of_a_later_version_is_ignored() -> None:
    assert decode_record(b'{"type":"event","kind":"gc","began_ns":5,"ended_ns":5,"new":1}').kind == "gc"
