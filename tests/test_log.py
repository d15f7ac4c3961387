"""Logging never waits."""

import logging
from queue import Queue

import pytest

from app.log import DroppingHandler, logging_to_stderr


def test_a_full_queue_drops_lines_and_counts_them() -> None:
    handler = DroppingHandler(Queue(1))
    for number in range(3):
        handler.emit(logging.LogRecord("app", logging.INFO, __file__, 1, f"line {number}", None, None))
    assert handler.dropped == 2


def test_what_must_not_be_shown_is_cleaned_from_message_and_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to_stderr(lambda text: text.replace("Geh3im!x", "***")):
        error = ValueError("rtsp://u:Geh3im!x@h")
        logging.getLogger("app.x").error("can't open %s", "Geh3im!x", exc_info=error)
    said = capsys.readouterr().err
    assert "Geh3im!x" not in said
    assert said.count("***") >= 2


def test_lines_are_written_before_the_block_ends(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to_stderr():
        logging.getLogger("app.x").warning("the camera is %s", "gone")
    assert "WARNING app.x: the camera is gone" in capsys.readouterr().err
