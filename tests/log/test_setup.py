"""The log as the product uses it: what is said anywhere comes out, and nobody waits for it."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.config.sections import Log
from app.log import output, writer
from app.log.handler import QueueingHandler
from app.log.output import Descriptor
from app.log.setup import logging_to_stderr
from app.verdict import Verdict


def test_lines_are_written_before_the_block_ends(written) -> None:
    with logging_to_stderr():
        logging.getLogger("app.x").warning("the camera is %s", "gone", extra={"camera": "covers"})
    (said,) = written()
    assert (said["level"], said["logger"], said["event"]) == ("warning", "app.x", "the camera is gone")
    assert said["camera"] == "covers"


def test_what_must_not_be_shown_is_cleaned_from_message_and_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to_stderr(clean=lambda text: text.replace("Geh3im!x", "***")):
        error = ValueError("rtsp://u:Geh3im!x@h")
        logging.getLogger("app.x").error("can't open %s", "Geh3im!x", exc_info=error)
    said = capsys.readouterr().err
    assert "ValueError" in said
    assert "Geh3im!x" not in said
    assert said.count("***") >= 2


def test_the_level_counts_and_is_put_back(written, outcome_of) -> None:
    before = logging.getLogger().level
    with logging_to_stderr(Log(level="warning")) as log:
        log.judged(outcome_of(Verdict.NG))
        logging.getLogger("app.x").info("not this")
        logging.getLogger("app.x").error("this")
    assert [said["event"] for said in written()] == ["this"]
    assert logging.getLogger().level == before


def test_frames_and_what_parts_say_come_out_in_order(written, outcome_of) -> None:
    with logging_to_stderr() as log:
        logging.getLogger("app.x").info("before")
        log.judged(outcome_of(Verdict.NG))
        logging.getLogger("app.x").info("after")
    said = written()
    assert [line["event"] for line in said] == ["before", "frame", "after"]
    assert said[1]["verdict"] == "NG"


def test_words_for_people_where_asked(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to_stderr(Log(format="console")):
        logging.getLogger("app.x").warning("the camera is gone")
    said = capsys.readouterr().err
    assert "warning" in said
    assert not said.startswith("{")


class Odd:
    """Can't be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no")


def test_a_line_that_can_t_be_rendered_is_told_and_the_log_goes_on(written) -> None:
    with logging_to_stderr():
        logging.getLogger("app.x").info("odd", extra={"field": Odd()})
        logging.getLogger("app.x").info("next")
    said = written()
    assert [line["event"] for line in said] == ["odd", "next"]
    assert said[0]["unrenderable"] == "no"


def test_a_text_whose_arguments_don_t_fit_is_shown_as_it_is() -> None:
    lines = []
    QueueingHandler(lines.append).handle(logging.LogRecord("app", logging.INFO, "", 1, "%s and %s", ("one",), None))
    assert lines[0].event == "%s and %s ('one',)"


@contextmanager
def stalled(path: Path) -> Iterator[int]:
    """Make a fifo that nobody reads stderr; its reading end. Not a fixture: pytest sets stderr before each test."""
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with path.open("w") as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        yield reading


def test_with_the_disk_stalled_nobody_waits_drops_are_counted_and_the_end_comes(
    tmp_path, outcome_of, monkeypatch
) -> None:
    monkeypatch.setattr(writer, "GIVE_UP_NS", 300_000_000)
    bad = outcome_of(Verdict.NG)
    with stalled(tmp_path / "fifo") as reading:
        with logging_to_stderr(Log(max_waiting=500)) as log:
            for _ in range(5000):
                log.judged(bad)
        read = os.read(reading, 1 << 20).count(b"\n")
        os.close(reading)
    assert not log.writer.stuck
    assert 5000 - 201 <= log.writer.dropped + read <= 5000 + 201, "of the batch that stalled, some lines are through"
    assert log.writer.dropped >= 4500


def test_once_the_reader_is_back_the_log_goes_on_and_says_what_was_lost(tmp_path) -> None:
    texts = []

    def read_all(reading: int) -> None:
        os.set_blocking(reading, True)
        while data := os.read(reading, 65536):
            texts.append(data.decode())
        os.close(reading)

    with stalled(tmp_path / "fifo") as reading:
        reader = threading.Thread(target=read_all, args=(reading,))
        with logging_to_stderr(Log(max_waiting=100)) as log:
            for number in range(3000):
                logging.getLogger("app.x").warning("line %d %s", number, "x" * 100)
            reader.start()
    reader.join(10)
    said = "".join(texts)
    assert log.writer.dropped > 0
    assert '"event":"the log is read too slowly: lines were dropped"' in said
    assert f'"dropped_since_start":{log.writer.dropped}' in said
    assert said.count('"event":"line ') == 3000 - log.writer.dropped


def test_a_reader_that_is_gone_ends_nothing(tmp_path) -> None:
    with stalled(tmp_path / "fifo") as reading:
        os.close(reading)
        with logging_to_stderr() as log:
            logging.getLogger("app.x").warning("nobody hears this")
    assert log.writer.dropped == 1


def test_ops_06_a_full_disk_ends_nothing() -> None:
    with Path("/dev/full").open("w") as full:
        assert not Descriptor(full.fileno()).write("text\n", lambda: False)


def test_the_journal_is_known_by_the_file_that_systemd_names(tmp_path: Path, monkeypatch) -> None:
    with (tmp_path / "journal").open("w") as stream:
        status = os.fstat(stream.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        assert output.is_journal(stream)
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino + 1}")
        assert not output.is_journal(stream)


def test_a_process_that_logs_to_the_journal_writes_priorities() -> None:
    code = (
        "import logging, os\n"
        "status = os.fstat(2)\n"
        "os.environ['JOURNAL_STREAM'] = f'{status.st_dev}:{status.st_ino}'\n"
        "from app.log.setup import logging_to_stderr\n"
        "with logging_to_stderr(): logging.getLogger('app.x').error('gone')\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert said.stderr.startswith('<3>{"level":"error"')
