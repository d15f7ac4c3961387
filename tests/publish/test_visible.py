"""What comes from a broker does nothing to a terminal but show."""

import pytest

from app.config.sections import Mqtt
from app.publish.commands import Commands
from app.publish.message import Event, Status
from app.publish.visible import visible, visible_message
from app.watch import line_of

TEXTS = [
    # a text, as it is shown
    ("Ofen-Tür №1 ✓ 😀", "Ofen-Tür №1 ✓ 😀"),
    ("\x1b[2Jgone", "·[2Jgone"),  # clears the screen
    ("a\nb\tc\rd", "a·b·c·d"),
    ("\x9b2J", "·2J"),  # the same in one character
    ("\x07\x00\x7f", "···"),
    ("abc\u202etxt.exe", "abc·txt.exe"),  # runs the other way
]


@pytest.mark.parametrize(("text", "shown"), TEXTS)
def test_a_text_keeps_its_length_and_loses_what_acts(text, shown):
    assert visible(text) == shown


def test_a_message_is_cleaned_whole():
    event = Event(
        id="1", line="l", camera="\x1b[H", kind="k", text="\x1b[2J", utc="u", clock="ok", data={"\x1b": "\x1b"}
    )
    cleaned = visible_message(event)
    assert (cleaned.camera, cleaned.text, cleaned.data) == ("·[H", "·[2J", {"·": "·"})
    assert "\x1b" not in line_of(event).plain


def test_a_status_stays_what_it_was():
    status = Status(
        state="online", reason="running", line="l", camera="", version="1", cameras=["a"], models=[], utc="u"
    )
    assert visible_message(status) == status


def test_an_answer_to_a_command_repeats_nothing_that_acts():
    """Found by fuzzing: the name of an unknown field came back as it was."""
    told = []
    lines = Commands(Mqtt(commands={"allow": ["pause"]}), "l", lambda *_: None, audit=lambda *row: told.append(row))
    lines.received("taktsight/l/cmd/pause", b'{"id":"1","\\b\\u001b[2J":1}', False)
    ((_, _, done, text),) = told
    assert not done
    assert "·[2J" in text
    assert "\x1b" not in text
