"""Messages: one schema, plain numbers, bounded size, both encodings."""

import json
import math

import jsonschema
import msgspec
import numpy as np
import pytest

from app.detections import Detections
from app.publish.build import event_of, result_of
from app.publish.clock import Label
from app.publish.message import (
    Ack,
    MalformedMessage,
    Status,
    decode,
    encode,
    encode_within,
    message_schema,
)
from app.trace import Trace
from app.verdict import Code, Judgement, Reason, Verdict


@pytest.fixture
def event():
    def make(**data):
        return event_of("e.1", "Linie 1", camera="cam", kind="test", text="a text", data=data, at=Label(0, "ok"))

    return make


def test_a_result_says_what_was_seen_and_when(outcome):
    reason = Reason(Code.FORBIDDEN, "screw must not be there", (0,))
    result = result_of(outcome(7, Verdict.NG, reasons=[reason], part=3, label="img7.png"), "Linie 1")
    assert (result.id, result.line, result.camera, result.seq, result.part) == (
        "run-Ofen-Tür-7.1", "Linie 1", "Ofen-Tür", 7, 3
    )  # fmt: skip
    assert (result.verdict, result.reasons[0].code, result.reasons[0].boxes) == (Verdict.NG, "forbidden", [0])
    assert (result.detections[0].name, result.detections[0].xyxy) == ("screw", (10.0, 20.0, 30.0, 40.0))
    assert result.captured_utc == "2023-11-14T22:13:20.123Z"
    assert (result.stages_ms.capture, result.stages_ms.inference, result.stages_ms.network) == (10.0, 15.0, None)
    assert result.total_ms == 30.0


@pytest.mark.parametrize("encoding", ["json", "msgpack"])
def test_every_message_comes_back_from_its_payload(outcome, event, encoding):
    status = Status(state="online", reason="running", line="l", version="1", utc="1970-01-01T00:00:00.000Z")
    ack = Ack(id="a.1", trace_id="a", hold_ms=1.5, client="c")
    for message in (result_of(outcome(), "l"), event(n=1), status, ack):
        assert decode(encode(message, encoding)) == message


def test_every_message_fits_the_published_schema(outcome, event):
    validator = jsonschema.Draft202012Validator(message_schema())
    status = Status(state="offline", reason="lost", line="l", version="1", utc="1970-01-01T00:00:00.000Z")
    rotated = Detections(np.zeros((1, 4), np.float32), np.ones(1, np.float32), np.zeros(1, np.int64), ("a",))
    rotated = msgspec.structs.replace(
        result_of(outcome(), "l"), detections=result_of(outcome(detections=rotated), "l").detections
    )
    for message in (result_of(outcome(), "l"), rotated, event(n=1), status, Ack(id="a.1", trace_id="a", hold_ms=0)):
        assert not list(validator.iter_errors(json.loads(encode(message))))


def test_an_angle_is_there_only_where_boxes_are_rotated(outcome):
    assert b"angle_rad" not in encode(result_of(outcome(), "l"))
    zeros = np.zeros(1, np.float32)
    rotated = Detections(np.zeros((1, 4), np.float32), zeros, np.zeros(1, np.int64), ("a",), angles_rad=zeros + 0.5)
    assert json.loads(encode(result_of(outcome(detections=rotated), "l")))["detections"][0]["angle_rad"] == 0.5


def test_mq_10_numpy_numbers_are_plain_in_every_field(outcome):
    trace = Trace("t", np.int64(0))
    trace.add("capture", np.int64(0), np.int64(2_000_000))
    reason = Reason(Code.COUNT, "why", tuple(np.arange(1)))
    numpy_outcome = outcome(
        np.int64(5),
        reasons=[reason],
        size_wh=(np.int32(640), np.uint16(480)),
        trace=trace,
        budget_ms=np.float32(100),
        captured_utc_ns=np.int64(0),
        rev=np.int64(2),
        part=np.int64(3),
        label=np.str_("name"),
        region_xyxy=tuple(np.array([1, 2, 3, 4], np.float32)),
    )
    result = result_of(numpy_outcome, "l")
    for encoding in ("json", "msgpack"):
        assert decode(encode(result, encoding)) == result
    assert json.loads(encode(result))["id"].endswith("-5.2")


def test_mq_10_numpy_in_an_events_data_and_its_keys_is_plain(event):
    data = {
        "int": np.int64(1),
        "float": np.float32(0.5),
        "bool": np.bool_(True),
        "array": np.arange(3),
        "keys": {np.int64(7): np.float64(1), 2: {np.uint8(1)}},
        "other": object,
    }
    plain = json.loads(encode(event(**data)))["data"]
    assert {key: plain[key] for key in data if key != "other"} == {
        "int": 1, "float": 0.5, "bool": True, "array": [0, 1, 2], "keys": {"7": 1.0, "2": [1]}
    }  # fmt: skip


def test_one_number_that_is_not_finite_changes_nothing_of_the_other_boxes(outcome):
    random = np.random.default_rng(3)
    xyxy = random.uniform(0, 4000, (200, 4)).astype(np.float32)
    scores, classes = random.uniform(0, 1, 200).astype(np.float32), random.integers(0, 3, 200)
    whole = result_of(outcome(detections=Detections(xyxy, scores, classes, ("a", "b"))), "l")
    xyxy[-1, 0] = np.nan
    spoilt = result_of(outcome(detections=Detections(xyxy, scores, classes, ("a", "b"))), "l")
    assert whole.detections[:-1] == spoilt.detections[:-1]
    assert json.loads(encode(whole))["detections"][:-1] == json.loads(encode(spoilt))["detections"][:-1]
    assert all(len(f"{value}".partition(".")[2]) <= 2 for box in whole.detections for value in box.xyxy)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_mq_11_a_number_that_is_not_finite_is_null_and_named(outcome, bad):
    region = (0.0, 0.0, bad, 1.0)
    payload = encode(result_of(outcome(1, region_xyxy=region, budget_ms=bad), "l"))
    fields = json.loads(payload, parse_constant=lambda word: pytest.fail(f"bare {word} in the payload"))
    assert fields["region"] == [0.0, 0.0, None, 1.0]
    assert fields["budget_ms"] is None
    assert fields["invalid_fields"] == ["region", "budget_ms"]
    assert fields["verdict"] == "OK"


@pytest.mark.parametrize("verdict", [Verdict.OK, Verdict.NG])
def test_mq_11_ok_is_not_said_where_a_score_or_a_box_is_not_finite(outcome, verdict):
    boxes = np.array([[0, 0, 1, 1], [0, 0, np.nan, 1]], np.float32)
    found = Detections(boxes, np.array([np.inf, 0.5], np.float32), np.zeros(2, np.int64), ("a",))
    result = result_of(outcome(1, verdict, detections=found), "l")
    assert result.invalid_fields == ["detections[0].score", "detections[1].xyxy"]
    assert result.verdict is (Verdict.UNKNOWN if verdict is Verdict.OK else Verdict.NG)
    assert [r.code for r in result.reasons] == (["bad_output"] if verdict is Verdict.OK else [])


def test_mq_11_numbers_that_are_not_finite_in_an_event_are_null_and_named(event):
    message = event(deep={"list": [1.0, np.float32("nan")]}, rate=math.inf)
    assert message.data == {"deep": {"list": [1.0, None]}, "rate": None}
    assert message.invalid_fields == ["data.deep.list[1]", "data.rate"]


def test_an_events_data_that_contains_itself_ends_somewhere(event):
    loop = {}
    loop["again"] = loop
    assert len(encode(event(loop=loop))) < 10_000


def test_mq_09_a_result_too_long_loses_its_boxes_and_keeps_its_verdict(outcome):
    reason = Reason(Code.FORBIDDEN, "screw must not be there", (0, 299))
    result = result_of(outcome(1, Verdict.NG, boxes=300, reasons=[reason]), "l")
    short = decode(encode_within(result, 4096))
    assert (short.verdict, short.detections, short.truncated) == (Verdict.NG, [], True)
    assert (short.reasons[0].text, short.reasons[0].boxes) == ("screw must not be there", [])
    assert encode_within(result, 1 << 20) == encode(result)


def test_mq_09_texts_go_where_that_is_not_enough(outcome):
    reasons = [Reason(Code.COUNT, "x" * 5000)] * 50
    short = decode(encode_within(result_of(outcome(1, Verdict.NG, reasons=reasons, label="y" * 900), "l"), 1024))
    assert (short.verdict, [r.code for r in short.reasons], short.truncated) == (Verdict.NG, ["count"], True)
    assert len(encode(short)) <= 1024


def test_mq_09_an_event_too_long_loses_its_data(event):
    short = decode(encode_within(event(blob="x" * 9000), 2048))
    assert (short.kind, short.data, short.truncated) == ("test", {}, True)


@pytest.mark.parametrize(
    "payload",
    [
        b"",  # a retained message was cleared
        b"{",  # torn
        b'{"type":"result"}',  # fields are missing
        b'{"type":"order","schema":"1"}',  # not one of ours
        b'{"type":"ack","schema":"2","id":"a","trace_id":"a","hold_ms":1}',  # a schema of the future
        b"[" * 100_000,  # nested without end
        b"\xff\xfe",  # neither JSON nor MessagePack
        b"\xc1",  # a byte that MessagePack never uses
    ],
)
def test_a_payload_that_is_no_message_is_refused_with_one_error(payload):
    with pytest.raises(MalformedMessage, match="not a message of schema 1"):
        decode(payload)


def test_fields_of_the_future_are_ignored():
    payload = b'{"type":"ack","schema":"1","id":"a.1","trace_id":"a","hold_ms":1,"new":[1,2]}'
    assert decode(payload) == Ack(id="a.1", trace_id="a", hold_ms=1)


def test_judgement_without_reasons_is_an_empty_list(outcome):
    assert result_of(outcome(judgement=Judgement(Verdict.OK)), "l").reasons == []


def test_ops_05_a_result_carries_the_note_about_the_clock(outcome):
    result = result_of(outcome(clock="step", captured_utc_ns=-7200 * 10**9), "l")
    assert (result.clock, result.captured_utc, result.total_ms) == ("step", "1970-01-01T00:00:00.000Z", 30.0)
