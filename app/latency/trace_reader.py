"""Reads a trace file: what can be read of it, and how much can't."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from app.errors import ConfigError
from app.latency.trace_file import FrameTrace, Run, SystemEvent, decode_record


@dataclass(slots=True)
class TraceLog:
    """What a trace file holds, in the order of the file.

    Attributes:
        broken: lines that are no record, e.g. the last one of a service that was killed.
        first_broken: where the first of them is and what is wrong with it.
    """

    path: Path
    runs: list[Run] = field(default_factory=list)
    frames: list[FrameTrace] = field(default_factory=list)
    events: list[SystemEvent] = field(default_factory=list)
    broken: int = 0
    first_broken: str = ""

    @property
    def published(self) -> list[FrameTrace]:
        """The frames that had a verdict; the others were passed over by the gate."""
        return [frame for frame in self.frames if frame.fate == "published"]

    @property
    def dropped(self) -> int:
        """How many lines the writer says are missing."""
        counts = [event.data.get("count", 0) for event in self.events if event.kind == "dropped"]
        return sum(count for count in counts if isinstance(count, int))


def read_trace(path: Path, advance: Callable[[int], None] = lambda _: None) -> TraceLog:
    """Read a file.

    Args:
        path: of the file.
        advance: told of the bytes of each line that was read, for a progress bar.

    Raises:
        ConfigError: it can't be read, or there is not one frame in it.
    """
    try:
        with path.open("rb") as file:
            log = read_lines(path, file, advance)
    except OSError as error:
        raise ConfigError(
            f"{path}: can't be read ({error.strerror}); name a file that the section trace has written"
        ) from error
    if not log.frames:
        why = f"; the first broken line: {log.first_broken}" if log.broken else ""
        raise ConfigError(f"{path}: holds no frame of a trace; see docs/traces.md for how it is written{why}")
    return log


def read_lines(path: Path, lines: Iterable[bytes], advance: Callable[[int], None] = lambda _: None) -> TraceLog:
    """Read lines; a broken one is counted and the others are kept."""
    log = TraceLog(path)
    for number, line in enumerate(lines, 1):
        advance(len(line))
        if not line.strip():
            continue
        try:
            record = decode_record(line)
        except ValueError as error:
            log.broken += 1
            log.first_broken = log.first_broken or f"line {number}: {error}"
            continue
        if isinstance(record, FrameTrace):
            log.frames.append(record)
        elif isinstance(record, SystemEvent):
            log.events.append(record)
        else:
            log.runs.append(record)
    return log
