"""Trace-event JSON for Perfetto and chrome://tracing: threads as tracks, frames as flows, events as instants."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any, TypeAlias

from app.latency.trace_file import FrameTrace, Span, SystemEvent
from app.latency.trace_reader import TraceLog
from app.traces.colours import part_of
from app.traces.timing import timing_of

Row: TypeAlias = dict[str, Any]

PROCESS = 1
EVENTS_TRACK = "events"
GC_TRACK = "garbage collection"


class Tracks:
    """Gives each track its number; slices of one track never overlap, so that every viewer can draw them.

    A thread does one thing at a time. Waiting frames and messages on their way do not: what overlaps goes to a further
    track of the same name.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, int], int] = {}
        self._free_ns: defaultdict[str, list[int]] = defaultdict(list)
        self._next = count(1)

    def fit(self, name: str, began_ns: int, ended_ns: int) -> int:
        """Return the number of the first track of that name which is free; slices come by their beginning."""
        lanes = self._free_ns[name]
        lane = next((number for number, free_ns in enumerate(lanes) if free_ns <= began_ns), len(lanes))
        lanes[lane : lane + 1] = [max(ended_ns, began_ns + 1)]
        return self.number(name, lane)

    def number(self, name: str, lane: int = 0) -> int:
        """Return a track's number."""
        key = name, lane
        if key not in self._numbers:
            self._numbers[key] = next(self._next)
        return self._numbers[key]

    def rows(self) -> Iterator[Row]:
        """Yield the names of all tracks."""
        for (name, lane), number in self._numbers.items():
            shown = name if lane == 0 else f"{name} {lane + 1}"
            yield {"ph": "M", "pid": PROCESS, "tid": number, "name": "thread_name", "args": {"name": shown}}
            yield {
                "ph": "M",
                "pid": PROCESS,
                "tid": number,
                "name": "thread_sort_index",
                "args": {"sort_index": number},
            }


def document(log: TraceLog, rows: Sequence[Row]) -> str:
    """Return the file that https://ui.perfetto.dev opens."""
    whole = {"displayTimeUnit": "ms", "traceEvents": rows, "otherData": {"source": log.path.name}}
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False, default=str)


def trace_events(log: TraceLog) -> list[Row]:
    """Return the trace events: microseconds since the first of them, which JSON can hold to the nanosecond."""
    tracks = Tracks()
    zero_ns = min(*(frame.exposed_ns for frame in log.frames), *(event.began_ns for event in log.events), 2**63)
    for name in track_names(log.frames):
        tracks.number(name)
    line = log.runs[0].line if log.runs else log.path.stem
    head: Row = {"ph": "M", "pid": PROCESS, "tid": 0, "name": "process_name", "args": {"name": f"taktsight {line}"}}
    rows = [*_slices_and_flows(log.frames, tracks, zero_ns), *_system(log.events, tracks, zero_ns)]
    return [head, *tracks.rows(), *sorted(rows, key=lambda row: row["ts"])]


def track_names(frames: Iterable[FrameTrace]) -> list[str]:
    """Return the tracks in the order in which a frame meets them."""
    names = dict.fromkeys(span.thread for frame in frames for span in frame.spans)
    order = {"waiting": 1, "inspect": 2, "outbox": 3, "subscriber": 4}
    return sorted(names, key=lambda name: (order.get(name, 0), name))


def _slices_and_flows(frames: Iterable[FrameTrace], tracks: Tracks, zero_ns: int) -> Iterator[Row]:
    whole = _last_revisions(frames)
    spans = sorted(
        ((span, index) for index, frame in enumerate(whole) for span in frame.spans), key=lambda pair: pair[0].began_ns
    )
    steps: defaultdict[int, list[Row]] = defaultdict(list)
    for span, index in spans:
        row = _slice(span, whole[index], tracks.fit(span.thread, span.began_ns, span.ended_ns), zero_ns)
        steps[index].append(row)
        yield row
    for index, rows in steps.items():
        yield from _flow(whole[index], index + 1, rows)


def _last_revisions(frames: Iterable[FrameTrace]) -> list[FrameTrace]:
    # Two revisions of one frame share their steps: drawn twice, they would lie upon one another.
    last: dict[str, FrameTrace] = {}
    for frame in frames:
        if frame.rev >= last.get(frame.trace_id, frame).rev:
            last[frame.trace_id] = frame
    return list(last.values())


def _slice(span: Span, frame: FrameTrace, track: int, zero_ns: int) -> Row:
    verdict = "" if frame.verdict is None else frame.verdict.value
    return {
        "ph": "X",
        "name": span.step,
        "cat": part_of(span.step),
        "pid": PROCESS,
        "tid": track,
        "ts": (span.began_ns - zero_ns) / 1e3,
        "dur": _length_us(span.began_ns, span.ended_ns),
        "args": {"trace_id": frame.trace_id, "camera": frame.camera, "seq": frame.seq, "verdict": verdict},
    }


def _length_us(began_ns: int, ended_ns: int) -> float:
    """Return a slice's length, 1 ns less than it was; 1 ns at least, to carry its flow.

    Viewers add beginning and length as floats, and some take a slice that begins where another ends for a part of it.
    """
    return max(1, ended_ns - began_ns - 1) / 1e3


def _flow(frame: FrameTrace, number: int, slices: list[Row]) -> Iterator[Row]:
    """Yield the arrow from slice to slice; each of its ends lies at the beginning of the slice that it binds to."""
    if len(slices) < 2:  # noqa: PLR2004 - an arrow has two ends
        return
    total = f"{timing_of(frame).total_ms:.1f} ms"
    for place, row in enumerate(slices):
        phase = "s" if place == 0 else "f" if place == len(slices) - 1 else "t"
        end = {"bp": "e"} if phase == "f" else {}
        yield {
            "ph": phase,
            "id": number,
            "name": "frame",
            "cat": "frame",
            "pid": PROCESS,
            "tid": row["tid"],
            "ts": row["ts"],
            "args": {"trace_id": frame.trace_id, "total": total},
            **end,
        }


def _system(events: Iterable[SystemEvent], tracks: Tracks, zero_ns: int) -> Iterator[Row]:
    for event in sorted(events, key=lambda event: event.began_ns):
        base = {"pid": PROCESS, "cat": "system", "ts": (event.began_ns - zero_ns) / 1e3}
        data = {"text": event.text, "camera": event.camera, **event.data}
        if event.kind == "clock":
            yield {"ph": "C", "name": "clock speed", "tid": 0, **base, "args": {"MHz": event.data.get("mhz", 0)}}
        elif event.ended_ns > event.began_ns:
            name = GC_TRACK if event.kind == "gc" else event.kind
            track = tracks.fit(name, event.began_ns, event.ended_ns)
            length_us = _length_us(event.began_ns, event.ended_ns)
            yield {"ph": "X", "name": event.kind, "tid": track, "dur": length_us, **base, "args": data}
        else:
            track = tracks.number(EVENTS_TRACK)
            yield {"ph": "i", "s": "p", "name": f"{event.kind}: {event.text}", "tid": track, **base, "args": data}
