"""Lines as JSON, as words, and as systemd's journal wants them; nothing secret in any."""

import json
import logging
from functools import partial

import pytest

from app.config.secrets import mask
from app.log.line import Line
from app.log.render import Renderer

WHEN_NS = 1_700_000_000_123_000_000


def line(level: int = logging.INFO, event: str = "the camera is gone", **fields) -> Line:
    return Line(WHEN_NS, level, "app.capture.feed", event, fields)


def test_a_line_is_one_json_object_with_its_fields() -> None:
    text = Renderer(str, as_json=True)(line(camera="covers", counts={"judged": 3}))
    assert text.endswith("}\n")
    assert json.loads(text) == {
        "timestamp": "2023-11-14T22:13:20.123Z",
        "level": "info",
        "logger": "app.capture.feed",
        "event": "the camera is gone",
        "camera": "covers",
        "counts": {"judged": 3},
    }


def test_a_field_does_not_take_the_place_of_one_that_every_line_has() -> None:
    text = Renderer(str, as_json=True)(Line(WHEN_NS, logging.INFO, "app", "x", {"level": "no_refine", "event": 5}))
    assert {key: json.loads(text)[key] for key in ("level", "level_", "event", "event_")} == {
        "level": "info",
        "level_": "no_refine",
        "event": "x",
        "event_": 5,
    }


def test_ops_05_the_time_in_a_line_is_utc_and_a_label_only() -> None:
    for utc_ns in (WHEN_NS - 7_200 * 10**9, WHEN_NS + 86_400 * 10**9):
        text = Renderer(str, as_json=True)(Line(utc_ns, logging.INFO, "app", "x", {}))
        assert json.loads(text)["timestamp"].endswith("Z")


def test_a_traceback_stays_on_its_json_line() -> None:
    text = Renderer(str, as_json=True)(line(exception="Traceback\n  x\nValueError"))
    assert text.count("\n") == 1
    assert json.loads(text)["exception"].count("\n") == 2


def test_on_a_terminal_it_is_words() -> None:
    text = Renderer(str, as_json=False)(line(logging.WARNING, camera="covers", exception="Traceback\nValueError: x"))
    assert "warning" in text
    assert "the camera is gone" in text
    assert "camera=covers" in text
    assert "ValueError: x" in text
    assert "\x1b" not in text, "no colours unless asked for"


@pytest.mark.parametrize(
    ("level", "priority"),
    [(logging.DEBUG, 7), (logging.INFO, 6), (logging.WARNING, 4), (logging.ERROR, 3), (logging.CRITICAL, 2)],
)
def test_the_journal_gets_a_priority_and_keeps_its_own_time(level, priority) -> None:
    text = Renderer(str, as_json=True, journal=True)(line(level))
    assert text.startswith(f"<{priority}>" + '{"level"')
    assert "timestamp" not in text


def test_every_line_of_words_for_the_journal_has_the_priority() -> None:
    text = Renderer(str, as_json=False, journal=True)(line(logging.ERROR, exception="Traceback\n  x\nValueError"))
    assert all(part.startswith("<3>") for part in text.splitlines())


@pytest.mark.parametrize("as_json", [True, False])
def test_what_a_terminal_would_obey_is_shown_as_an_escape(as_json) -> None:
    text = Renderer(str, as_json=as_json)(line(event="id \x1b[2J\x9b2J\u202e", by="a\x07"))
    assert not any(character in text for character in "\x1b\x9b\x07\u202e")
    assert "x1b[2J" in text


@pytest.mark.parametrize("journal", [True, False])
@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r", "\x85", "\u2028"])
def test_nobody_can_write_a_line_of_the_log_for_us(end, as_json, journal) -> None:
    """A command's id, say, comes from whoever can publish."""
    render = Renderer(str, as_json=as_json, journal=journal)
    assert len(render(line(event=f"command 7{end}00:00:00 error all is lost")).splitlines()) == 1


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("secret", ["Geh3im!x", 'quo"te', "back\\slash", "pässwort", "a b"])
def test_cfg_09_a_secret_is_masked_wherever_it_stands(secret, as_json) -> None:
    render = Renderer(partial(mask, secrets=[secret]), as_json=as_json)
    nested = {"deep": [{"er": f"at {secret}"}], secret: 1}
    text = render(
        line(event=f"can't open {secret}", url=f"rtsp://u:{secret}@h", exception=f"Error: {secret}", n=nested)
    )
    assert secret not in text
    assert json.dumps(secret, ensure_ascii=False)[1:-1] not in text
    assert text.count("***") >= 5


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), None),
        (1 << 80, str(1 << 80)),
        (b"x", "b'x'"),
        ({1: {2}}, {"1": "{2}"}),
        ("\udc80", "?"),
        ((1, 2), [1, 2]),
    ],
)
def test_an_odd_value_becomes_something_that_json_has(value, shown) -> None:
    assert json.loads(Renderer(str, as_json=True)(line(value=value)))["value"] == shown


def test_a_value_that_holds_itself_ends() -> None:
    loop: list = []
    loop.append(loop)
    assert json.loads(Renderer(str, as_json=True)(line(value=loop)))["event"] == "the camera is gone"
