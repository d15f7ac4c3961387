"""Any payload on any topic: a message, or one error of ours; a command is done, refused or ignored, and nothing grows."""

import io
import json
import unicodedata
from typing import get_args, get_type_hints

import msgspec
from hypothesis import strategies as st
from rich.console import Console

from app.config.sections import Mqtt
from app.latency.presentation import Presentation
from app.publish.answers import Answers
from app.publish.command import MOST_BYTES, id_of, parse
from app.publish.commands import REMEMBERED, Commands
from app.publish.health import CameraHealth, ServiceHealth
from app.publish.message import Ack, Event, Latency, MalformedMessage, Result, Status, decode, encode
from app.publish.previews import Previews
from app.status import _keep, _show
from app.watch import line_of
from tests.fuzz.hunt import any_json, damaged, hunt, mutated

RESULT = {
    "type": "result", "schema": "1", "id": "a.1", "trace_id": "a", "line": "l", "camera": "top", "seq": 1, "rev": 1, "late": False,
    "verdict": "NG", "reasons": [{"code": "count", "text": "t", "boxes": [0]}], "part": None, "label": "", "width": 4, "height": 4,
    "detections": [{"class": "a", "score": 0.5, "xyxy": [0, 0, 1, 1]}], "region": None, "stages_ms": {}, "total_ms": 1.5,
    "budget_ms": 100.0, "level": "full", "looked": [], "skipped": [], "captured_utc": "2026-11-30T00:00:00.000Z", "clock": "ok",
    "model": "m", "config": "c", "invalid_fields": [], "truncated": False,
}  # fmt: skip
EVENT = {
    "type": "event",
    "schema": "1",
    "id": "e",
    "line": "l",
    "camera": "top",
    "kind": "camera",
    "text": "lost",
    "utc": "u",
    "clock": "ok",
    "data": {"state": "lost"},
    "invalid_fields": [],
    "truncated": False,
}
STATUS = {
    "type": "status",
    "schema": "1",
    "state": "online",
    "reason": "running",
    "line": "l",
    "camera": "",
    "cameras": ["top"],
    "models": [],
    "version": "1",
    "log_dropped": 0,
    "utc": "u",
}
ACK = {
    "type": "ack",
    "schema": "1",
    "id": "a.1",
    "trace_id": "a",
    "hold_ms": 4.2,
    "client": "panel 1",
    "shows": "result",
}
WANT = {"type": "want", "schema": "1", "client": "panel 1", "previews": True}
LATENCY = {
    "type": "latency",
    "schema": "1",
    "id": "x",
    "line": "l",
    "camera": "top",
    "utc": "u",
    "clock": "ok",
    "budget_ms": 100.0,
    "frames": 1,
    "misses": 0,
    "level": "full",
    "breaches": {},
    "windows": [
        {
            "seconds": 10,
            "stages": {
                "total": {"count": 1, "p50": 1.0, "p90": 1.0, "p99": 1.0, "p999": 1.0, "max": 1.0, "exact": True}
            },
        }
    ],
    "subscribers": [],
    "others": 0,
    "previews": [],
    "gpus": {},
    "throttle": [],
    "truncated": False,
}
MESSAGES = [RESULT, EVENT, STATUS, ACK, WANT, LATENCY]
COMMANDS = [
    {"id": "1", "by": "me", "camera": "top"},
    {"id": "2", "camera": "top", "class": "scratch", "score": 0.4},
    {"id": "3"},
]
WORDS = [
    "id",
    "type",
    "schema",
    "result",
    "ack",
    "want",
    "client",
    "camera",
    "top",
    "score",
    "class",
    "by",
    "xyxy",
    "hold_ms",
    "\x1b[2J",
    "a\nb",
    "\0",
]
NAMES = ["pause", "resume", "snapshot", "trigger", "reload", "set_threshold", "ack", "", "eval", "\x1b[2J", "a\nb"]


def payloads(trees):
    """JSON and MessagePack of trees that are almost right, of anything, and bytes."""
    packer = msgspec.msgpack.Encoder()

    def packed(tree):
        try:
            return packer.encode(tree)
        except (OverflowError, UnicodeEncodeError):
            return repr(tree).encode("utf-8", "replace")

    def text(tree):
        return json.dumps(tree).encode()

    almost = damaged(trees, WORDS)
    deep = st.integers(1, 100_000).map(lambda depth: b'{"id":' + b"[" * depth)
    seeds = [text(tree) for tree in trees] + [packed(tree) for tree in trees]
    return st.one_of(
        almost.map(text),
        almost.map(packed),
        mutated(seeds),
        any_json().map(text),
        any_json().map(packed),
        st.binary(max_size=300),
        deep,
    )


def hostile_of(tree, end="\x1b[2J\x9b2J\x07"):
    """A message whose texts would clear the screen of whoever prints them."""
    kept = ("type", "schema", "verdict", "state", "clock", "shows")
    return {key: value + end if isinstance(value, str) and key not in kept else value for key, value in tree.items()}


def filled(struct):
    """A tree that has every field of a struct."""
    values = {bool: True, int: 1, float: 1.5, str: "s", list[str]: ["p"], dict[str, int]: {"captured": 1}}
    hints = get_type_hints(struct)
    return {
        name: next((values[one] for one in (hint, *get_args(hint)) if one in values), None)
        for name, hint in hints.items()
    }


def is_visible(text):
    """Whether a terminal would do nothing but show it."""
    return all(unicodedata.category(character) != "Cc" or character in "\n\t" for character in text)


def test_any_payload_is_a_message_or_refused():
    def check(payload):
        try:
            message = decode(payload)
        except MalformedMessage:
            return "refused"
        encode(message), encode(message, "msgpack")
        if isinstance(message, Result | Event | Status | Latency):
            assert is_visible(line_of(message).plain), "what `taktsight watch` prints"
        return type(message).__name__

    hostile = st.sampled_from(MESSAGES).map(lambda tree: json.dumps(hostile_of(tree)).encode())
    words = hunt("MQTT: any message", payloads(MESSAGES) | hostile, check)
    assert words["refused"] > 0


def test_a_table_of_statuses_is_printed_whatever_is_in_them():
    health, detail = filled(ServiceHealth), filled(CameraHealth)
    trees = [
        STATUS,
        {**STATUS, "health": health},
        {**STATUS, "camera": "top", "detail": detail},
        {**STATUS, "state": "offline"},
    ]

    def check(payload):
        try:
            message = decode(payload)
        except MalformedMessage:
            return "refused"
        if not isinstance(message, Status):
            return "other"
        lines = {}
        for one in (decode(json.dumps({**STATUS, "health": health}).encode()), message):
            _keep(lines, one)
        console = Console(file=io.StringIO(), width=200, force_terminal=False)
        for name, line in lines.items():
            _show(name, line, console)
        assert is_visible(console.file.getvalue())
        return "printed"

    marked = st.sampled_from(trees).map(lambda tree: json.dumps(hostile_of(tree, "[/][bold")).encode())
    hostile = st.sampled_from(trees).map(lambda tree: json.dumps(hostile_of(tree)).encode())
    words = hunt("MQTT: statuses as a table", payloads(trees) | marked | hostile, check)
    assert words["printed"] > 0


def test_any_payload_is_a_command_or_refused():
    def check(case):
        name, payload = case
        assert len(id_of(payload)) <= 64
        try:
            command = parse(name, payload)
        except MalformedMessage:
            return "refused"
        assert len(payload) <= MOST_BYTES
        return type(command).__name__

    words = hunt("MQTT: commands", st.tuples(st.sampled_from(NAMES), payloads(COMMANDS)), check)
    assert words["refused"] > 0


def test_a_line_takes_any_command_from_any_topic_and_keeps_its_bounds(caplog):
    caplog.set_level("CRITICAL", "app.publish.commands")
    section = Mqtt(commands={"allow": ["pause", "set_threshold"], "per_minute": 6000})
    done, told = [], []
    lines = Commands(
        section,
        "l",
        lambda command, done_: (done.append(command), done_(True, "done")),
        audit=lambda *row: told.append(row),
    )

    def check(case):
        name, payload, retained = case
        done.clear()
        told.clear()
        lines.received(f"taktsight/l/cmd/{name}", payload, retained)
        assert len(lines._done) <= REMEMBERED
        assert len(lines._taken_s) <= 6000
        assert not (retained and done), "a retained command is never done"
        assert all(type(command).__name__ in ("Pause", "SetThreshold") for command in done)
        assert all(is_visible(row[3]) and "\n" not in row[3] for row in told)
        return "done" if done else "refused" if told else "ignored"

    fresh = st.uuids().map(lambda one: json.dumps({**COMMANDS[0], "id": str(one)}).encode())
    cases = st.tuples(st.sampled_from(NAMES), payloads(COMMANDS) | fresh, st.booleans())
    words = hunt("MQTT: a line's commands", cases, check)
    assert words["done"] > 0
    assert words["ignored"] > 0


def test_acknowledgements_and_wishes_of_anybody_are_counted_within_bounds():
    previews = Previews(Mqtt(previews={}), "l", ("top",))
    answers, shown = Answers(), Presentation()
    topic = "taktsight/l/top/ack"

    def check(payload):
        previews.received(topic, payload, False)
        try:
            message = decode(payload)
        except MalformedMessage:
            return "refused"
        if not isinstance(message, Ack):
            return "other"
        answers.shown(message, 1)
        shown.add("top", message.client, 1.0, message.hold_ms)
        encode(message)
        assert all(row.network and row.hold for row in shown.rows("top"))
        return "counted"

    clients = st.text(max_size=80).map(lambda name: json.dumps({**ACK, "client": name, "id": name}).encode())
    holds = st.floats().map(lambda hold: msgspec.msgpack.encode({**ACK, "hold_ms": hold}))
    wishes = st.text(max_size=80).map(lambda name: json.dumps({**WANT, "client": name}).encode())
    words = hunt("MQTT: acknowledgements", st.one_of(payloads([ACK, WANT]), clients, holds, wishes), check)
    assert words["counted"] > 0
