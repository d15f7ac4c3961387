"""What the commands on traces do; cli.py only names their options."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from app.config import sections
from app.errors import ConfigError
from app.traces.live import listen
from app.traces.opening import open_trace
from app.traces.otlp import json_lines, send
from app.traces.perfetto import document, trace_events
from app.traces.pick import pick
from app.traces.report import report
from app.traces.tail import tail_of
from app.traces.tail_table import print_tail
from app.traces.timing import timings_of
from app.traces.waterfall import print_waterfall


def show_tail(path: Path, console: Console, errors: Console, *, camera: str, last_s: float) -> None:
    """Print who makes the tail in a trace file; of one camera, where it is named."""
    log = open_trace(path, errors, last_s)
    timings = [timing for timing in timings_of(log.frames) if camera in ("", timing.camera)]
    cameras = sorted({frame.camera for frame in log.frames})
    if camera and camera not in cameras:
        raise ConfigError(f"{path}: no frame of camera {camera!r} in it; there are {', '.join(cameras)}")
    print_tail(tail_of(timings, log.events), console)


def show_live_tail(
    section: sections.Mqtt, console: Console, errors: Console, *, line: str, camera: str, seconds: float
) -> None:
    """Listen to a running line, then print who makes the tail."""
    heard = listen(section, line=line, camera=camera, seconds=seconds, errors=errors)
    print_tail(tail_of(heard.timings, heard.events), console)
    console.print(
        "Live, a result can't know its own way to the broker, and pauses of the service are not told: the section "
        "trace in the configuration writes a file that has both.",
        style="dim",
        highlight=False,
    )


def show_frame(wanted: str, path: Path, console: Console, errors: Console) -> None:
    """Print one frame as a waterfall."""
    log = open_trace(path, errors)
    print_waterfall(pick(log, wanted), log.events, console)


def write_export(path: Path, out: Path, console: Console, errors: Console, *, last_s: float) -> None:
    """Write the file for Perfetto."""
    log = open_trace(path, errors, last_s)
    with errors.status(f"writing {out}"):
        rows = trace_events(log)
        write(out, document(log, rows))
    console.print(
        f"{out}: {len(rows)} trace events of {len(log.frames)} frames; open it at https://ui.perfetto.dev or "
        "chrome://tracing (nothing is sent anywhere)",
        highlight=False,
        soft_wrap=True,
    )


def write_otlp(path: Path, out: Path, console: Console, errors: Console, *, last_s: float) -> None:
    """Write OpenTelemetry spans to a file."""
    log = open_trace(path, errors, last_s)
    with errors.status(f"writing {out}"):
        write(out, json_lines(log))
    console.print(f"{out}: {len(log.frames)} frames as OTLP JSON, one request a line", highlight=False, soft_wrap=True)


def send_otlp(path: Path, url: str, console: Console, errors: Console, *, last_s: float) -> None:
    """Send OpenTelemetry spans to a collector."""
    log = open_trace(path, errors, last_s)
    with errors.status(f"sending to {url}"):
        count = send(log, url)
    console.print(f"{url}: took {len(log.frames)} frames in {count} requests", highlight=False, soft_wrap=True)


def write_report(path: Path, out: Path, console: Console, errors: Console, *, last_s: float) -> None:
    """Write the report."""
    log = open_trace(path, errors, last_s)
    with errors.status(f"writing {out}"):
        write(out, report(log))
    console.print(f"{out}: {len(log.published)} outcomes; open it in any browser", highlight=False, soft_wrap=True)


def write(out: Path, content: str) -> None:
    """Write a file, and make its folder where that is missing.

    Raises:
        ConfigError: it can't be written.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(content, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{out}: can't be written ({error.strerror}); choose another file with -o") from error
