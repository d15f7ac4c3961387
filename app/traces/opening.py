"""Opens a trace file for a command: with a progress bar, and a word about what could not be read."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from app.latency.trace_reader import TraceLog, read_trace
from app.traces.window import last_seconds

STEP_BYTES = 1 << 20
"""The bar moves so often; a call for each line would take longer than the line."""


def open_trace(path: Path, errors: Console, last_s: float = 0.0) -> TraceLog:
    """Read a trace file.

    Args:
        path: of the file.
        errors: for the bar and the words about broken lines, so that they don't stand in what is printed.
        last_s: only so many seconds before the end; 0 for all.

    Raises:
        ConfigError: it can't be read, or holds no frame.
    """
    columns = (TextColumn("reading {task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        size = path.stat().st_size if path.exists() else 0
        task = progress.add_task(path.name, total=size)
        waiting = 0

        def advance(count: int) -> None:
            nonlocal waiting
            waiting += count
            if waiting >= STEP_BYTES:
                progress.advance(task, waiting)
                waiting = 0

        log = read_trace(path, advance)
    if log.broken:
        lines = "line is" if log.broken == 1 else "lines are"
        errors.print(
            f"{path}: {log.broken} {lines} broken and left out; {log.first_broken}", highlight=False, soft_wrap=True
        )
    if log.dropped:
        errors.print(f"{path}: its writer dropped {log.dropped} lines", highlight=False, soft_wrap=True)
    return last_seconds(log, last_s)
