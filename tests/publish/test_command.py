"""What a command may be: one strict schema each, and a refusal that says what is wrong."""

import pytest

from app.publish import command
from app.publish.command import MOST_BYTES, id_of, parse
from app.publish.message import MalformedMessage


@pytest.mark.parametrize(
    ("name", "payload", "wanted"),
    [
        ("pause", b'{"id":"1","camera":"front"}', command.Pause(id="1", camera="front")),
        ("resume", b'{"id":"1","camera":"front","by":"x"}', command.Resume(id="1", by="x", camera="front")),
        ("snapshot", b'{"id":"1","camera":"front"}', command.Snapshot(id="1", camera="front")),
        ("trigger", b'{"id":"1","camera":"front"}', command.Trigger(id="1", camera="front")),
        ("reload", b'{"id":"1"}', command.Reload(id="1")),
        ("set_model", b'{"id":"1","camera":"a","file":"b.onnx"}', command.SetModel(id="1", camera="a", file="b.onnx")),
        (
            "set_threshold",
            b'{"id":"1","camera":"front","class":"scratch","score":0.4}',
            command.SetThreshold(id="1", camera="front", name="scratch", score=0.4),
        ),
    ],
)
def test_each_command_is_read(name, payload, wanted):
    assert parse(name, payload) == wanted


@pytest.mark.parametrize(
    ("name", "payload", "why"),
    [
        ("shutdown", b"{}", "there is no command 'shutdown'; there are pause, resume"),
        ("pause", b"", "pause: "),  # nothing
        ("pause", b'{"camera":"front"}', "missing required field `id`"),
        ("pause", b'{"id":"","camera":"front"}', r"`str` of length >= 1"),
        ("pause", b'{"id":"1"}', "missing required field `camera`"),
        ("pause", b'{"id":"1","camera":7}', "Expected `str`, got `int`"),
        ("pause", b'{"id":"1","camera":"front","force":true}', "unknown field `force`"),
        ("reload", b'{"id":"1","path":"/etc/passwd"}', "unknown field `path`"),
        ("set_threshold", b'{"id":"1","camera":"a","class":"b","score":1.5}', "<= 1"),
        ("set_threshold", b'{"id":"1","camera":"a","class":"b","score":NaN}', "invalid"),
        ("pause", b'{"id":"' + b"x" * 65 + b'","camera":"front"}', "<= 64"),
        ("pause", b"[" * 3000, "pause: "),  # deep
        ("pause", b'{"id":"1","camera":"' + b"x" * MOST_BYTES + b'"}', f"a command has {MOST_BYTES} at most"),
        ("pause", b"\xff\xfe", "pause: "),
    ],
)
def test_anything_else_is_refused_with_what_is_wrong(name, payload, why):
    with pytest.raises(MalformedMessage, match=why):
        parse(name, payload)


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        (b'{"id":"7","camera":5}', "7"),
        (b'{"id":7}', ""),
        (b'{"id":"' + b"x" * 99 + b'"}', "x" * 64),
        (b"[1]", ""),
        (b"nonsense", ""),
        (b"[" * 3000, ""),
    ],
)
def test_a_refusal_finds_whoever_asked_where_it_can(payload, found):
    assert id_of(payload) == found
