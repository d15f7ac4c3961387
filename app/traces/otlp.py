"""OpenTelemetry spans of the frames, as OTLP in JSON: for a file that a collector reads, or sent to one over HTTP."""

from __future__ import annotations

import json
import urllib.request
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any, TypeAlias
from urllib.error import URLError

from app.errors import ConfigError, SinkLost
from app.latency.trace_file import FrameTrace, Run, SystemEvent
from app.latency.trace_reader import TraceLog
from app.traces.timing import timing_of

Node: TypeAlias = dict[str, Any]

INTERNAL = 1
ERROR = 2
FRAMES_A_REQUEST = 500
SEND_S = 10.0


def requests(log: TraceLog) -> Iterator[Node]:
    """Yield `ExportTraceServiceRequest`s of at most 500 frames each.

    Raises:
        ConfigError: the file does not say how its clock stands to the wall clock, without which a span has no time.
    """
    if not log.runs:
        raise ConfigError(
            f"{log.path}: its first line (the run) is missing, so its times have no date; export to Perfetto"
        )
    run = log.runs[-1]
    resource = {
        "attributes": attributes({"service.name": "taktsight", "service.version": run.version, "line": run.line})
    }
    scope = {"name": "taktsight.trace", "version": run.schema}
    frames, events = iter(log.frames), sorted(log.events, key=lambda event: event.began_ns)
    while batch := list(islice(frames, FRAMES_A_REQUEST)):
        spans = [span for frame in batch for span in spans_of(frame, run, events)]
        yield {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}]}]}


def spans_of(frame: FrameTrace, run: Run, events: Sequence[SystemEvent]) -> list[Node]:
    """Return the frame's own span and one child for each of its steps.

    Args:
        frame: the frame.
        run: says how its clock stands to the wall clock.
        events: by their beginning; those that began during the frame become events of its span.
    """
    offset_ns = run.started_utc_ns - run.started_ns
    key = f"{frame.trace_id}/{frame.rev}/{frame.fate}"
    ids = {"traceId": _hex(frame.trace_id, 32)}
    root = {**ids, "spanId": _hex(key, 16), **_root(frame, events, offset_ns)}
    steps = [
        {
            **ids,
            "spanId": _hex(f"{key}/{number}", 16),
            "parentSpanId": root["spanId"],
            "name": span.step,
            "kind": INTERNAL,
            **_times(span.began_ns, span.ended_ns, offset_ns),
            "attributes": attributes({"thread.name": span.thread}),
        }
        for number, span in enumerate(frame.spans)
    ]
    return [root, *steps]


def _root(frame: FrameTrace, events: Sequence[SystemEvent], offset_ns: int) -> Node:
    timing = timing_of(frame)
    ended_ns = max((span.ended_ns for span in frame.spans), default=frame.exposed_ns)
    first, last = (
        bisect_left(events, at_ns, key=lambda event: event.began_ns) for at_ns in (frame.exposed_ns, ended_ns)
    )
    node: Node = {
        "name": "frame",
        "kind": INTERNAL,
        **_times(frame.exposed_ns, ended_ns, offset_ns),
        "attributes": attributes(
            {
                "taktsight.trace_id": frame.trace_id,
                "camera": frame.camera,
                "seq": frame.seq,
                "rev": frame.rev,
                "part": frame.part,
                "verdict": timing.verdict,
                "fate": frame.fate,
                "late": frame.late,
                "level": frame.level,
                "budget_ms": frame.budget_ms,
                "total_ms": timing.total_ms,
            }
        ),
        "events": [_event(event, offset_ns) for event in events[first:last] if event.camera in ("", frame.camera)],
    }
    return {**node, "status": {"code": ERROR, "message": "over its budget"}} if timing.is_over else node


def _event(event: SystemEvent, offset_ns: int) -> Node:
    text = attributes({"text": event.text})
    return {"timeUnixNano": str(event.began_ns + offset_ns), "name": event.kind, "attributes": text}


def attributes(values: dict[str, str | int | float | bool | None]) -> list[Node]:
    """Return OTLP's attributes; what is None is left out."""
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def json_lines(log: TraceLog) -> str:
    """Return one request a line, as a collector's receiver of OTLP JSON files reads them."""
    return "".join(json.dumps(request, separators=(",", ":")) + "\n" for request in requests(log))


def send(log: TraceLog, url: str) -> int:
    """Post all frames to a collector's OTLP/HTTP address; return in how many requests.

    Raises:
        ConfigError: the address is no http or https one.
        SinkLost: the collector can't be reached or does not take them.
    """
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"{url}: not an address of a collector; give one such as http://127.0.0.1:4318/v1/traces")
    return sum(_post(request, url) for request in requests(log))


def _post(request: Node, url: str) -> int:
    body = json.dumps(request, separators=(",", ":")).encode()
    post = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 - http(s) is checked
    try:
        with urllib.request.urlopen(post, timeout=SEND_S) as answer:  # noqa: S310 - http(s) is checked
            answer.read()
    except (URLError, OSError) as error:
        why = getattr(error, "reason", error)
        raise SinkLost(f"collector {url}: {why}; is it running, with its OTLP receiver on HTTP?") from error
    return 1


def _times(began_ns: int, ended_ns: int, offset_ns: int) -> Node:
    # 64-bit numbers are text in OTLP's JSON, because JavaScript's numbers can't hold them.
    return {"startTimeUnixNano": str(began_ns + offset_ns), "endTimeUnixNano": str(ended_ns + offset_ns)}


def _value(value: str | int | float | bool) -> Node:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def _hex(words: str, digits: int) -> str:
    """Return an id made of ours, the same each time, so that sending a file twice makes no second trace."""
    return sha256(words.encode()).hexdigest()[:digits]
