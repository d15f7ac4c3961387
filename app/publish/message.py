"""What is published: one versioned schema of results, events, statuses, latencies, previews and what comes back."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from app.publish.health import CameraHealth, ServiceHealth
from app.publish.spread import Gpu, Subscriber, Window
from app.verdict import Verdict

SCHEMA: Literal["1"] = "1"
Encoding: TypeAlias = Literal["json", "msgpack"]
State: TypeAlias = Literal["online", "offline"]
Xyxy: TypeAlias = tuple[float | None, float | None, float | None, float | None]


class MalformedMessage(ValueError):  # noqa: N818 - named after the finding
    """A payload that is not one of these messages."""


class ReasonMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Why a verdict is what it is.

    Attributes:
        code: a stable word; docs/mqtt.md lists them. Treat one that is not known as text.
        boxes: rows of `detections` that decided.
    """

    code: str
    text: str
    boxes: list[int] = []


class DetectionMessage(msgspec.Struct, frozen=True, kw_only=True, rename={"name": "class"}):
    """One box.

    Attributes:
        name: the class; the key is `class`.
        xyxy: left, top, right, bottom in pixels of the picture, edges, hundredths.
        angle_rad: clockwise from the x axis; only there where the model gives rotated boxes.
    """

    name: str
    score: float | None
    xyxy: Xyxy
    angle_rad: float | msgspec.UnsetType | None = msgspec.UNSET


class Stages(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds spent, in the order of the path; null where a stage has not run, or not yet.

    `network` ends with the broker's acknowledgement and `presentation` with a subscriber's, so that both are null in
    the result itself; the service measures them and shows them in its own figures.
    """

    capture: float | None = None
    wait: float | None = None
    preprocess: float | None = None
    inference: float | None = None
    postprocess: float | None = None
    network: float | None = None
    presentation: float | None = None


class Result(msgspec.Struct, frozen=True, kw_only=True, tag="result", tag_field="type"):
    """The verdict on one frame or part.

    Attributes:
        id: unique for a frame and revision; a result that comes twice has the same one.
        line, camera: the names as configured, not the topic's levels.
        seq: counts the camera's frames since the service started.
        rev: 1, or 2 for a verdict that takes the place of one sent before.
        late: UNKNOWN with the reason `late` had gone out before this verdict was known.
        reused: the model did not look: it had seen the same picture, pixel for pixel, a moment ago.
        trigger: the id of the command that asked for the picture; empty where none did.
        evidence: the record of the picture that is kept, below the folder of evidence; empty where none is.
        part: counts parts where a gate finds them.
        label: the picture's name at its source.
        width, height: of the picture in pixels, 0 where there was none.
        region: the part's box where a gate found it.
        total_ms: from the exposure to the end of the last stage in `stages_ms`.
        level: what the budget allowed the frame; docs/tuning.md lists them.
        looked: left, top, right, bottom of the regions that were looked at twice, in pixels.
        unlooked: those that would have been, but for the time; empty where there was none for any (`level`).
        skipped: steps left out to be on time.
        captured_utc: wall clock of the exposure, a label; never reckon with it.
        clock: "ok", or "step" where the wall clock was set within the last minute.
        invalid_fields: fields that held no finite number and are null.
        truncated: boxes or texts were left out because the message was too long, or NMS had more than it may keep.
    """

    schema: Literal["1"] = SCHEMA
    id: str
    trace_id: str
    line: str
    camera: str
    seq: int
    rev: int
    late: bool
    history: bool = False
    verdict: Verdict
    reasons: list[ReasonMessage]
    part: int | None
    label: str
    width: int
    height: int
    detections: list[DetectionMessage]
    region: Xyxy | None
    stages_ms: Stages
    total_ms: float | None
    budget_ms: float | None
    level: str
    looked: list[tuple[int, int, int, int]]
    unlooked: list[tuple[int, int, int, int]] = []
    skipped: list[str]
    captured_utc: str
    clock: str
    model: str
    config: str
    invalid_fields: list[str]
    truncated: bool
    trigger: str = ""
    reused: bool = False
    evidence: str = ""


class Event(msgspec.Struct, frozen=True, kw_only=True, tag="event", tag_field="type"):
    """Something that happened and is no verdict.

    Attributes:
        id: unique for the event.
        camera: its name as configured, empty for the line as a whole.
        kind: a stable word, e.g. "dropped".
        text: one line for a person.
        data: numbers and words that belong to the kind.
    """

    schema: Literal["1"] = SCHEMA
    id: str
    line: str
    camera: str
    kind: str
    text: str
    utc: str
    clock: str = "ok"
    data: dict[str, Any] = {}
    invalid_fields: list[str] = []
    truncated: bool = False


class Status(msgspec.Struct, frozen=True, kw_only=True, tag="status", tag_field="type"):
    """Whether a service, or one camera of it, is there; retained by the broker.

    Attributes:
        reason: "running", "stopped" (on purpose) or "lost" (the broker says so: the last will).
        camera: empty in the service's own status.
        log_dropped: lines of the log that were dropped since the start, because it was read too slowly.
        utc: when the service said so; in a last will when it connected, since the broker does not date it.
        health: in the service's own status, told anew every ten seconds; null before the first time.
        detail: in a camera's status, the same of that camera.
    """

    schema: Literal["1"] = SCHEMA
    state: State
    reason: str
    line: str
    camera: str = ""
    cameras: list[str] = []
    models: list[str] = []
    version: str
    log_dropped: int = 0
    utc: str
    health: ServiceHealth | None = None
    detail: CameraHealth | None = None


class Ack(msgspec.Struct, frozen=True, kw_only=True, tag="ack", tag_field="type"):
    """A subscriber has shown a result, or a preview.

    Attributes:
        id: the result's or the preview's.
        hold_ms: from the message's arrival at the subscriber to the moment when it was shown.
        client: who says so.
        shows: what that id is one of.
    """

    schema: Literal["1"] = SCHEMA
    id: str
    trace_id: str
    hold_ms: float
    client: str = ""
    shows: Literal["result", "preview"] = "result"


class Want(msgspec.Struct, frozen=True, kw_only=True, tag="want", tag_field="type"):
    """A watcher asks for a camera's previews, or says that it wants no more.

    Attributes:
        client: who asks; its previews go to a topic of that name.
        previews: false to end it; who says nothing for half a minute is forgotten as well.
    """

    schema: Literal["1"] = SCHEMA
    client: str
    previews: bool = True


class Preview(msgspec.Struct, frozen=True, kw_only=True, tag="preview", tag_field="type"):
    """A small picture with the verdict drawn on.

    Attributes:
        id: unique for the picture; what the acknowledgement names.
        trace_id, line, camera, seq, rev, verdict, captured_utc: those of the result.
        jpeg: the picture; Base64 in JSON, bytes in MessagePack.
    """

    schema: Literal["1"] = SCHEMA
    id: str
    trace_id: str
    line: str
    camera: str
    seq: int
    rev: int
    verdict: Verdict
    captured_utc: str
    jpeg: bytes


class Latency(msgspec.Struct, frozen=True, kw_only=True, tag="latency", tag_field="type"):
    """How long the stages of one camera take.

    Attributes:
        id: unique for the message.
        frames: results that the broker has, since the service started.
        misses: those of them that took longer than the budget.
        level: of the budget's plan, empty where there is none.
        breaches: how often a stage took longer than its share, since the service started.
        windows: ten seconds, a minute, since the start.
        subscribers: those that show results slowest; `others` more are left out.
        previews: the same of those that watch previews.
        gpus: of the machine, by number, as they were a moment ago; only where a model runs on one.
        throttle: what holds the machine's clocks back, or did within five seconds, e.g. "gpu 0: thermal".
        truncated: subscribers, or stages other than `total`, were left out because the message was too long.
    """

    schema: Literal["1"] = SCHEMA
    id: str
    line: str
    camera: str
    utc: str
    clock: str = "ok"
    budget_ms: float
    frames: int
    misses: int
    level: str
    breaches: dict[str, int]
    windows: list[Window]
    subscribers: list[Subscriber]
    others: int
    previews: list[Subscriber] = []
    gpus: dict[str, Gpu] = {}
    throttle: list[str] = []
    truncated: bool = False


Message: TypeAlias = Result | Event | Latency
Anything: TypeAlias = Result | Event | Status | Latency | Ack | Want | Preview

_json = msgspec.json.Decoder(Anything)
_msgpack = msgspec.msgpack.Decoder(Anything)


def encode(message: Anything, encoding: Encoding = "json") -> bytes:
    """Return the payload."""
    return msgspec.json.encode(message) if encoding == "json" else msgspec.msgpack.encode(message)


def encode_within(message: Message, max_bytes: int, encoding: Encoding = "json") -> bytes:
    """Return the payload; one too long loses boxes, then texts, and says `truncated`; the verdict always stays."""
    payload = encode(message, encoding)
    for shorten in (_without_boxes, _without_texts):
        if len(payload) <= max_bytes:
            break
        payload = encode(shorten(message), encoding)
    return payload


def as_history(result: Result) -> Result:
    """Return the same result, marked as no longer live."""
    return msgspec.structs.replace(result, history=True)


def decode(payload: bytes) -> Anything:
    """Return the message of a payload, JSON or MessagePack; unknown fields are ignored.

    Raises:
        MalformedMessage: it is neither, or not one of these messages.
    """
    decoder = _json if payload[:1] == b"{" else _msgpack
    try:
        return decoder.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedMessage(f"payload of {len(payload)} bytes: not a message of schema {SCHEMA}: {error}") from error


def message_schema() -> dict[str, Any]:
    """Return the JSON Schema of every message."""
    schema = msgspec.json.schema(Anything)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Taktsight messages", **schema}


def _without_boxes(message: Message) -> Message:
    if isinstance(message, Latency):
        return msgspec.structs.replace(message, subscribers=[], others=0, previews=[], breaches={}, truncated=True)
    if isinstance(message, Event):
        return msgspec.structs.replace(message, data={}, truncated=True)
    reasons = [ReasonMessage(code=reason.code, text=reason.text[:200]) for reason in message.reasons[:16]]
    return msgspec.structs.replace(message, detections=[], reasons=reasons, invalid_fields=[], truncated=True)


def _without_texts(message: Message) -> Message:
    if isinstance(message, Latency):
        totals = [
            Window(
                seconds=window.seconds,
                stages={name: spread for name, spread in window.stages.items() if name == "total"},
            )
            for window in message.windows
        ]
        return msgspec.structs.replace(_without_boxes(message), windows=totals)
    if isinstance(message, Event):
        return msgspec.structs.replace(_without_boxes(message), text=message.text[:80], invalid_fields=[])
    codes = list(dict.fromkeys(reason.code for reason in message.reasons))
    reasons = [ReasonMessage(code=code, text="") for code in codes]
    label = message.label[:32]
    return msgspec.structs.replace(
        _without_boxes(message), reasons=reasons, label=label, skipped=[], looked=[], unlooked=[]
    )
