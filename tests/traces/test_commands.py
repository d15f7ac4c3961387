"""The commands on traces, as a person types them."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from app.cli import app
from app.config import sections
from app.errors import ConfigError, SinkLost
from app.publish.message import Event, encode
from app.traces.commands import write
from app.traces.live import Heard, listen
from app.traces.opening import STEP_BYTES, open_trace
from app.watch import Arrival
from tests.traces.conftest import MS, PERIOD_MS, event, jitter, make_frame


@pytest.fixture
def trace(write: Callable[..., Path]) -> Path:
    slow = {seq: {"publish": 80.0} for seq in (3, 9, 20, 21, 33)}
    frames = [make_frame(seq, **{**jitter(seq), **slow.get(seq, {})}) for seq in range(1, 41)]
    pauses = [event("gc", (seq * PERIOD_MS + 30) * MS, (seq * PERIOD_MS + 60) * MS) for seq in slow]
    return write(*frames, *pauses)


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a command and return what it prints."""
    monkeypatch.setenv("COLUMNS", "140")

    def run(*arguments: object) -> str:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def test_latency_names_the_stage_and_what_went_with_it(say, trace: Path) -> None:
    said = say("latency", trace)
    assert "Network makes the tail: 100% of the time" in said.replace("\n", " ")
    assert "garbage collection goes with the tail: in 5 of 5 slow frames" in said
    assert "the slowest: run-front-0000" in said
    assert "Not seen in this file: throttling." in said


def test_latency_of_a_camera_that_is_not_there_says_which_are(trace: Path) -> None:
    with pytest.raises(ConfigError, match="no frame of camera 'rear' in it; there are front"):
        CliRunner().invoke(app, ["latency", str(trace), "--camera", "rear"], catch_exceptions=False)


def test_show_prints_one_frame(say, trace: Path) -> None:
    assert "run-front-000007" in say("trace", "show", "000007", trace)


def test_export_writes_what_perfetto_opens(say, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out.json"
    assert "40 frames" in say("trace", "export", trace, "-o", out)
    assert len(json.loads(out.read_text())["traceEvents"]) > 40 * 10 * 2


def test_report_writes_a_page(say, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert "40 outcomes" in say("report", trace, "-o", out)
    assert out.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    "arguments", [["latency", "{file}"], ["trace", "show", "slowest", "{file}"], ["report", "{file}"]]
)
def test_a_file_that_is_not_there_is_an_error_that_says_so(arguments: list[str], tmp_path: Path) -> None:
    said = [argument.format(file=tmp_path / "nothing.jsonl") for argument in arguments]
    with pytest.raises(ConfigError, match=r"nothing.jsonl: can't be read \(No such file or directory\)"):
        CliRunner().invoke(app, said, catch_exceptions=False)


def test_a_place_that_can_not_be_written_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="can't be written"):
        write(tmp_path / "file" / "report.html", "")


def test_broken_lines_are_said_once_and_not_among_what_is_printed(trace: Path) -> None:
    trace.write_bytes(b"torn\n" + trace.read_bytes() + b'{"type":"frame","trace_id":"x"')
    errors = Console(file=io.StringIO(), width=200)
    assert len(open_trace(trace, errors).frames) == 40
    assert "2 lines are broken and left out; line 1: " in errors.file.getvalue()


def test_a_long_file_shows_how_far_it_is(write: Callable[..., Path]) -> None:
    path = write(*(make_frame(seq) for seq in range(1, 1500)))
    assert path.stat().st_size > STEP_BYTES
    errors = Console(file=io.StringIO(), force_terminal=True, width=100)
    open_trace(path, errors)
    assert "reading trace.jsonl" in errors.file.getvalue()


def test_live_events_are_placed_by_their_arrival() -> None:
    heard = Heard()
    message = Event(id="e", line="l", camera="front", kind="level", text="down", utc="", data={"level": "late"})
    assert encode(message)
    heard.take(Arrival("t", message, 5 * MS))
    (kept,) = heard.events
    assert (kept.kind, kept.camera, kept.began_ns, kept.data) == ("level", "front", 5 * MS, {"level": "late"})


def test_a_broker_that_is_not_there_is_an_error_that_says_so(free_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.traces.live.FIRST_CONNECTION_S", 0.2)
    section = sections.Mqtt(port=free_port)
    with pytest.raises(SinkLost, match=f"127.0.0.1:{free_port}: not reached"):
        listen(section, line="", camera="", seconds=1, errors=Console(file=io.StringIO()))
