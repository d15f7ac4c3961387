"""Writing the trace file beside the line's beat."""

import errno
import io
import threading
from pathlib import Path

import pytest

import app.latency.trace_writer as writing
from app.config.sections import TraceFile
from app.errors import ConfigError
from app.latency.trace_file import Run, encode_record
from app.latency.trace_reader import read_trace
from app.latency.trace_writer import SENT_NS, SHOWN_NS, TraceWriter

RUN = Run(line="l", version="1", config="abc", started_ns=1, started_utc_ns=2)
STEPS = {"capture": 1, "inference": 20, "publish": 2}
MS = 1_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "trace.jsonl"


def section(path: Path, max_bytes: int = 10_000_000) -> TraceFile:
    return TraceFile(path=str(path), max_bytes=max_bytes)


def test_every_outcome_is_one_line_after_that_of_the_run(path: Path, outcome) -> None:
    with TraceWriter(section(path), RUN) as writer:
        for seq in range(1, 101):
            writer.put(outcome(seq, **STEPS))
        writer.event("front", "level", "down", {"level": "no_refine"})
    log = read_trace(path)
    assert log.runs == [RUN]
    assert [frame.seq for frame in log.published] == [*range(1, 101)]
    assert [event.text for event in log.events if event.kind == "level"] == ["down"]
    assert writer.counts() == writing.TraceCounts(put=101, written=101, dropped=0, waiting=0)
    assert not any(thread.name == "trace" for thread in threading.enumerate())


def test_leaving_twice_is_safe(path: Path) -> None:
    writer = TraceWriter(section(path), RUN)
    with writer:
        pass
    writer.__exit__(None, None, None)
    assert path.read_bytes() == encode_record(RUN)


def test_a_frame_is_written_once_its_last_steps_are_known(path: Path, outcome) -> None:
    clock = [0]
    writer = TraceWriter(section(path), RUN, now_ns=lambda: clock[0])
    shown, sent, stuck = outcome(1, **STEPS, present=4), outcome(2, **STEPS), outcome(3, capture=1, inference=20)
    for one in (shown, sent, stuck):
        writer.put(one)

    def written(now_ns: int) -> int:
        writer._write_due(now_ns, everything=False)
        return writer.counts().written

    path.parent.mkdir()
    published_ns = 23 * MS
    assert written(published_ns) == 1, "shown: nothing follows"
    assert written(published_ns + SHOWN_NS - 1) == 1
    assert written(published_ns + SHOWN_NS) == 2, "nobody has shown it in time"
    assert written(SENT_NS - 1) == 2
    assert written(SENT_NS) == 3, "the broker has not answered in time"
    assert [span.step for span in read_trace(path).frames[2].spans] == ["capture", "inference"]
    writer.__exit__(None, None, None)


def test_what_can_not_be_kept_is_dropped_and_counted_and_the_file_says_so(
    path: Path, outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MAX_WAITING", 5)
    writer = TraceWriter(section(path), RUN)
    for seq in range(1, 9):
        writer.put(outcome(seq, **STEPS))
    assert writer.counts() == writing.TraceCounts(put=8, written=0, dropped=3, waiting=5)
    with writer:
        pass
    log = read_trace(path)
    assert [frame.seq for frame in log.frames] == [1, 2, 3, 4, 5]
    assert log.dropped == 3


def test_of_too_many_unfinished_frames_the_oldest_are_written_as_they_are(
    path: Path, outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MAX_HELD", 2)
    writer = TraceWriter(section(path), RUN, now_ns=lambda: 0)
    for seq in (1, 2, 3):
        writer.put(outcome(seq, capture=1))
    path.parent.mkdir()
    writer._write_due(0, everything=False)
    assert [frame.seq for frame in read_trace(path).frames] == [1]
    writer.__exit__(None, None, None)


def test_a_full_file_is_kept_as_the_one_before_and_a_new_one_begins_with_the_run(path: Path, outcome) -> None:
    writer = TraceWriter(section(path, max_bytes=65_536), RUN, now_ns=lambda: 0)
    path.parent.mkdir()
    for seq in range(1, 301):
        writer.put(outcome(seq, **STEPS, present=1))
        writer._write_due(0, everything=True)
    writer.__exit__(None, None, None)
    old, new = read_trace(path.with_name("trace.jsonl.1")), read_trace(path)
    assert (old.runs, new.runs) == ([RUN], [RUN])
    assert new.frames[-1].seq == 300
    assert new.frames[0].seq == old.frames[-1].seq + 1
    assert path.stat().st_size <= 65_536
    assert old.path.stat().st_size <= 65_536


def test_the_file_of_the_run_before_is_kept(path: Path, outcome) -> None:
    for seq in (1, 2):
        with TraceWriter(section(path), RUN) as writer:
            writer.put(outcome(seq, **STEPS))
    assert [frame.seq for frame in read_trace(path).frames] == [2]
    assert [frame.seq for frame in read_trace(path.with_name("trace.jsonl.1")).frames] == [1]


def test_a_path_that_can_not_be_written_is_an_error_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ConfigError, match=r"trace.path .*can't be written"),
        TraceWriter(section(tmp_path / "file" / "trace.jsonl"), RUN),
    ):
        pass


def test_ops_06_a_full_disk_costs_the_lines_and_nothing_else(outcome, caplog: pytest.LogCaptureFixture) -> None:
    writer = TraceWriter(TraceFile(path="/dev/full"), RUN, now_ns=lambda: 0)
    writer._file = Path("/dev/full").open("ab", buffering=0)  # noqa: SIM115 - closed by the writer
    for seq in (1, 2):
        writer.put(outcome(seq, **STEPS))
        writer._write_due(0, everything=True)
    assert writer.counts() == writing.TraceCounts(put=2, written=0, dropped=2, waiting=0)
    assert len([record for record in caplog.records if "No space" in record.message]) == 1, "said once"
    writer.__exit__(None, None, None)


class FillsUp:
    """A file on a disk that is full after so many bytes, until it is not."""

    def __init__(self, file: io.FileIO, room: int) -> None:
        self.file, self.room = file, room

    def write(self, data: memoryview) -> int:
        if self.room == 0:
            self.room = 1 << 20
            raise OSError(errno.ENOSPC, "No space left on device")
        done = self.file.write(data[: self.room])
        self.room -= done
        return done

    def close(self) -> None:
        self.file.close()


def test_a_line_torn_by_a_full_disk_does_not_spoil_the_next(path: Path, outcome) -> None:
    writer = TraceWriter(section(path), RUN, now_ns=lambda: 0)
    path.parent.mkdir()
    writer._begin_file()
    writer._file = FillsUp(writer._file, room=100)
    for seq in (1, 2):
        writer.put(outcome(seq, **STEPS))
        writer._write_due(0, everything=True)
    writer.__exit__(None, None, None)
    log = read_trace(path)
    assert ([frame.seq for frame in log.frames], log.broken) == ([2], 1)
    assert writer.counts() == writing.TraceCounts(put=2, written=1, dropped=1, waiting=0)


def test_pauses_of_the_garbage_collector_are_in_the_file(path: Path, outcome) -> None:
    with TraceWriter(section(path), RUN) as writer:
        writer.put(outcome(**STEPS))
        writer._pauses.heard("start", {"generation": 2})
        writer._pauses._began_ns -= 50 * MS
        writer._pauses.heard("stop", {"generation": 2})
    pause = max(
        (event for event in read_trace(path).events if event.kind == "gc"), key=lambda e: e.ended_ns - e.began_ns
    )
    assert pause.ended_ns - pause.began_ns >= 50 * MS
