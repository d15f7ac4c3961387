"""A file with one message a line, whole lines only."""

import pytest

from app.config.sections import Jsonl
from app.errors import ConfigError, SinkLost
from app.publish.build import result_of
from app.publish.jsonl import JsonlSink
from app.publish.message import decode


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results" / "line.jsonl"


def test_each_message_is_a_line_that_is_there_at_once_and_stays(path, outcome):
    first, second = result_of(outcome(1), "l"), result_of(outcome(2), "l")
    with JsonlSink(Jsonl(path=str(path))) as sink:
        sink.send(first)
        assert decode(path.read_bytes()) == first
    with JsonlSink(Jsonl(path=str(path))) as sink:
        sink.send(second)
    assert [decode(line) for line in path.read_bytes().splitlines()] == [first, second]


def test_ops_06_a_full_disk_keeps_the_message_tears_no_later_line_and_is_told_once(path, outcome, caplog):
    messages = [result_of(outcome(seq), "l") for seq in (1, 2)]
    with JsonlSink(Jsonl(path=str(path))) as sink:
        real = sink._file

        class Full:
            """Takes 10 bytes, then none."""

            room = 10

            def write(self, data):
                if self.room == 0:
                    raise OSError(28, "No space left on device")
                taken = real.write(data[: self.room])
                self.room -= taken
                return taken

        sink._file = Full()
        for _ in range(2):
            with pytest.raises(SinkLost, match="No space left"):
                sink.send(messages[0])
        sink._file = real
        for message in messages:
            sink.send(message)
    torn, *whole = path.read_bytes().splitlines()
    assert len(torn) == 10
    assert [decode(line) for line in whole] == messages
    assert len([record for record in caplog.records if "No space" in record.getMessage()]) == 1


def test_a_path_that_cannot_be_written_is_an_error_of_the_configuration(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"jsonl\.path"):
        JsonlSink(Jsonl(path=str(tmp_path / "file" / "x.jsonl"))).__enter__()


def test_a_sink_that_is_not_open_keeps_the_message(path, outcome):
    with pytest.raises(SinkLost, match="not open"):
        JsonlSink(Jsonl(path=str(path))).send(result_of(outcome(), "l"))
