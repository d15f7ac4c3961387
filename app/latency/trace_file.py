"""The format of a trace file: a JSON object a line, of a run, a frame or something that happened beside the frames."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from app.frame import Frame
from app.trace import COLUMN_OF, Trace
from app.verdict import Outcome, Verdict

SCHEMA: Literal["1"] = "1"

THREADS = {
    "capture": "capture-{camera}",
    "guard": "capture-{camera}",
    "slot": "waiting",
    "gate": "waiting",
    "preprocess": "inspect",
    "inference": "inspect",
    "decode": "inspect",
    "refine": "inspect",
    "judge": "inspect",
    "publish": "outbox",
    "present": "subscriber",
}
"""Who had the frame during a step: a thread, `waiting` (nobody), or the subscriber's side of the broker."""

assert THREADS.keys() == COLUMN_OF.keys()


class Span(msgspec.Struct, frozen=True, gc=False):
    """One step of a frame, on `time.monotonic_ns` of the machine that wrote it.

    Raises:
        ValueError: it ends before it began.
    """

    step: str
    thread: str
    began_ns: int
    ended_ns: int

    def __post_init__(self) -> None:
        if self.ended_ns < self.began_ns:
            raise ValueError(f"step {self.step} ends before it began")

    @property
    def ms(self) -> float:
        """How long it took."""
        return (self.ended_ns - self.began_ns) / 1e6


class CameraBudget(msgspec.Struct, frozen=True, kw_only=True):
    """What a camera's frames are allowed.

    Attributes:
        stages_ms: each stage's share of it by name; empty where it is not shared out.
    """

    budget_ms: float
    stages_ms: dict[str, float] = {}


class Run(msgspec.Struct, frozen=True, kw_only=True, tag="run", tag_field="type"):
    """The first line: which service wrote the file, and both its clocks at one moment.

    Attributes:
        config: the first digits of the configuration's hash.
        started_ns: on `time.monotonic_ns`, as every other time in the file.
        started_utc_ns: the wall clock at that moment, nanoseconds since 1970: a label.
    """

    schema: Literal["1"] = SCHEMA
    line: str
    version: str
    config: str
    started_ns: int
    started_utc_ns: int
    cameras: dict[str, CameraBudget] = {}


class FrameTrace(msgspec.Struct, frozen=True, kw_only=True, tag="frame", tag_field="type"):
    """One outcome and where its time went.

    Attributes:
        rev: 1, or 2 for a verdict that took the place of an earlier one.
        part: where a gate counts parts.
        verdict: null for a frame that the gate passed over.
        fate: "published", or "skipped" for a frame that the gate passed over.
        late: UNKNOWN/late had gone out before this verdict was known.
        level: the level of the budget's plan, empty where there is none.
        skipped: steps left out to be on time.
        captured_utc_ns: the wall clock of the exposure, a label.
        spans: in the order of their beginning; a step that had not ended when the line was written is not there.
    """

    trace_id: str
    camera: str
    seq: int
    rev: int = 1
    part: int | None = None
    label: str = ""
    verdict: Verdict | None = None
    fate: Literal["published", "skipped"] = "published"
    late: bool = False
    level: str = ""
    skipped: list[str] = []
    budget_ms: float
    captured_utc_ns: int
    exposed_ns: int
    spans: list[Span]


class SystemEvent(msgspec.Struct, frozen=True, kw_only=True, tag="event", tag_field="type"):
    """Something that may have made frames late, on the same clock.

    Attributes:
        kind: "gc" (a garbage collection), "clock" (the CPU's clock speed during that time), "throttle" (the machine
            is too hot), "dropped" (lines that this file lacks), or the kind of an MQTT event: "camera", "level", ….
        camera: empty for the machine or the line as a whole.
        began_ns, ended_ns: equal for something that has no length.
    """

    kind: str
    camera: str = ""
    text: str = ""
    began_ns: int
    ended_ns: int
    data: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if self.ended_ns < self.began_ns:
            raise ValueError(f"event {self.kind} ends before it began")


Record: TypeAlias = Run | FrameTrace | SystemEvent

_decoder = msgspec.json.Decoder(Record)
_encoder = msgspec.json.Encoder(enc_hook=str)  # an event's data may hold anything


def encode_record(record: Record) -> bytes:
    """Return one line, its end included."""
    return _encoder.encode(record) + b"\n"


def decode_record(line: bytes) -> Record:
    """Return what a line holds; keys that are not known are ignored.

    Raises:
        ValueError: the line is none of the records.
    """
    try:
        return _decoder.decode(line)
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: {error}") from error


def frame_trace(outcome: Outcome) -> FrameTrace:
    """Return the record of an outcome as its trace stands now."""
    return FrameTrace(
        trace_id=outcome.trace_id,
        camera=outcome.camera,
        seq=outcome.seq,
        rev=outcome.rev,
        part=outcome.part,
        label=outcome.label,
        verdict=outcome.judgement.verdict,
        late=outcome.late,
        level=outcome.level,
        skipped=list(outcome.skipped),
        budget_ms=outcome.budget_ms,
        captured_utc_ns=outcome.captured_utc_ns,
        exposed_ns=outcome.trace.exposed_ns,
        spans=_spans(outcome.camera, outcome.trace),
    )


def skipped_trace(frame: Frame, trace: Trace, *, budget_ms: float, captured_utc_ns: int) -> FrameTrace:
    """Return the record of a frame that the gate passed over."""
    return FrameTrace(
        trace_id=trace.trace_id,
        camera=frame.camera,
        seq=frame.seq,
        label=frame.picture.label,
        fate="skipped",
        budget_ms=budget_ms,
        captured_utc_ns=captured_utc_ns,
        exposed_ns=trace.exposed_ns,
        spans=_spans(frame.camera, trace),
    )


def _spans(camera: str, trace: Trace) -> list[Span]:
    # `tuple` first: another thread may append the next step meanwhile.
    spans = [_span(camera, *span) for span in tuple(trace.spans)]
    return sorted(spans, key=lambda span: (span.began_ns, span.ended_ns))


def _span(camera: str, step: str, began_ns: int, ended_ns: int) -> Span:
    # A driver's time stamp may lie a little after the read that brought it; a step takes no less than nothing.
    return Span(step, THREADS[step].format(camera=camera), began_ns, max(began_ns, ended_ns))
