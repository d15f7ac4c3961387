"""Reading a trace file, whole and damaged."""

from pathlib import Path

import pytest

from app.errors import ConfigError
from app.latency.trace_file import Run, SystemEvent, encode_record, frame_trace
from app.latency.trace_reader import read_trace

RUN = Run(line="l", version="1", config="abc", started_ns=1, started_utc_ns=2)
EVENT = SystemEvent(kind="dropped", began_ns=1, ended_ns=1, data={"count": 3})


def test_records_are_sorted_by_what_they_are(tmp_path: Path, outcome) -> None:
    frame = frame_trace(outcome(inference=20))
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"".join(map(encode_record, (RUN, frame, EVENT))))
    log = read_trace(path)
    assert (log.runs, log.frames, log.events, log.broken, log.dropped) == ([RUN], [frame], [EVENT], 0, 3)


def test_a_broken_line_is_counted_and_named_and_the_others_are_kept(tmp_path: Path, outcome) -> None:
    line = encode_record(frame_trace(outcome(inference=20)))
    path = tmp_path / "trace.jsonl"
    path.write_bytes(encode_record(RUN) + b"not json\n" + line + b"\n" + line[:40])  # killed while it wrote
    log = read_trace(path)
    assert (len(log.frames), log.broken) == (1, 2)
    assert log.first_broken.startswith("line 2: ")


def test_progress_is_told_byte_by_byte_to_the_end(tmp_path: Path, outcome) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(encode_record(frame_trace(outcome(inference=20))) + b"broken\n\n")
    seen: list[int] = []
    read_trace(path, seen.append)
    assert sum(seen) == path.stat().st_size


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "can't be read"),
        (b"", "holds no frame"),
        (b"hello\n", "the first broken line: line 1"),
        (encode_record(RUN), "holds no frame"),
    ],
)
def test_a_file_without_a_frame_is_an_error_that_says_why(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "trace.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=words):
        read_trace(path)
