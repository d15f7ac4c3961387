"""Finds one frame in a trace file by what a person would type."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from app.errors import ConfigError
from app.latency.trace_file import FrameTrace
from app.latency.trace_reader import TraceLog
from app.traces.timing import Timing, timings_of, went_whole_way

SHOWN = 5


def pick(log: TraceLog, wanted: str) -> FrameTrace:
    """Return a frame: by its id, by any part of one that no other has, `slowest` or `typical`.

    Of several revisions the last one is returned, which has every step.

    Raises:
        ConfigError: there is no such frame, or more than one.
    """
    if wanted in ("slowest", "typical"):
        timings = timings_of(log.frames)
        if not timings:
            raise ConfigError(
                f"{log.path}: no frame in it has a verdict, so none is {wanted}; name one by its trace_id"
            )
        wanted = (slowest(timings) if wanted == "slowest" else typical(went_whole_way(timings))).trace_id
    ids = dict.fromkeys(frame.trace_id for frame in log.frames)
    found = [wanted] if wanted in ids else [trace_id for trace_id in ids if wanted in trace_id]
    if len(found) == 1:
        return max((frame for frame in log.frames if frame.trace_id == found[0]), key=lambda frame: frame.rev)
    if found:
        some = ", ".join(found[:SHOWN])
        raise ConfigError(f"{log.path}: {len(found)} frames have {wanted!r} in their id ({some}, …); type more of it")
    near = get_close_matches(wanted, ids, n=3, cutoff=0.0) or list(ids)[:SHOWN]
    raise ConfigError(
        f"{log.path}: no frame has {wanted!r} in its id; there are, for example, {', '.join(near)}; "
        "slowest and typical work too"
    )


def slowest(timings: Sequence[Timing]) -> Timing:
    """Return the frame that took longest."""
    return max(timings, key=lambda timing: timing.total_ms)


def typical(timings: Sequence[Timing]) -> Timing:
    """Return the frame whose total is the median."""
    return sorted(timings, key=lambda timing: timing.total_ms)[(len(timings) - 1) // 2]
