"""The end of a trace file: its last seconds, where the whole of it is too much."""

from __future__ import annotations

from dataclasses import replace

from app.errors import ConfigError
from app.latency.trace_reader import TraceLog


def last_seconds(log: TraceLog, seconds: float) -> TraceLog:
    """Return what a file holds of the seconds before its last exposure; all of it where `seconds` is 0.

    Raises:
        ConfigError: the time is negative.
    """
    if seconds < 0:
        raise ConfigError(f"--last {seconds:g}: is before the end; give a number of seconds, 0 for the whole file")
    if seconds == 0:
        return log
    from_ns = max(frame.exposed_ns for frame in log.frames) - int(seconds * 1e9)
    return replace(
        log,
        frames=[frame for frame in log.frames if frame.exposed_ns >= from_ns],
        events=[event for event in log.events if event.ended_ns >= from_ns],
    )
