"""The sections of a configuration; with the kinds of source in sources.py, every default of the product stands here."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, field_validator, model_validator
from typing_extensions import Self

from app.config.address import check_host
from app.config.budget import Shares
from app.config.commands import Commands
from app.config.engine import BuiltEngine
from app.config.evidence import Collect, Evidence
from app.config.guard import Guard
from app.config.network import Decode, Input, Nms
from app.config.outbox import Outbox
from app.config.polygon import CORNERS_SCHEMA, corners
from app.config.previews import Previews
from app.config.references import dangling
from app.config.refine import Merge, Refine
from app.config.reopen import Reopen
from app.config.running import Log, Process
from app.config.section import Fraction, Name, Positive, Section
from app.config.shadow import Shadow
from app.config.sources import (
    ConveyorSource,
    GstreamerSource,
    ImagesSource,
    Source,
    StreamSource,
    SyntheticSource,
    V4l2Source,
    VideoSource,
)
from app.config.telemetry import Alerts, Latency, Metrics
from app.config.tls import Tls
from app.config.trace_file import TraceFile
from app.config.triton import Triton
from app.config.verify import Verify

__all__ = [
    "Alerts",
    "BuiltEngine",
    "Camera",
    "Collect",
    "Commands",
    "Config",
    "ConveyorSource",
    "CountRule",
    "Decode",
    "Evidence",
    "ForbidRule",
    "Fraction",
    "Gate",
    "GstreamerSource",
    "Guard",
    "ImagesSource",
    "Input",
    "Jsonl",
    "Judge",
    "Latency",
    "Log",
    "Membership",
    "Merge",
    "Metrics",
    "Model",
    "Mqtt",
    "Name",
    "Nms",
    "Outbox",
    "Positive",
    "Previews",
    "Process",
    "Refine",
    "Region",
    "Reopen",
    "RequireRule",
    "Rule",
    "Section",
    "Shadow",
    "Shares",
    "Source",
    "StreamSource",
    "SyntheticSource",
    "Tls",
    "TraceFile",
    "Triton",
    "V4l2Source",
    "Verify",
    "VideoSource",
]


# ── what is asked of a part ──────────────────────────────────────────────────────────────────────────────────────────


class Region(Section):
    """A polygon, or a box given by two corners, with its unit said."""

    unit: Literal["pixels", "fraction"] = Field(description="what the numbers are")
    polygon: Annotated[list[tuple[float, float]], BeforeValidator(corners), WithJsonSchema(CORNERS_SCHEMA)] = Field(
        description="x, y of each corner; also accepted: 'x1,y1,x2,y2,…' and ['x,y', …]. Two corners are a box"
    )

    @model_validator(mode="after")
    def _numbers_fit_the_unit(self) -> Self:
        numbers = [number for point in self.polygon for number in point]
        if self.unit == "fraction" and not all(0 <= number <= 1 for number in numbers):
            raise ValueError("fractions are 0 … 1 of the picture; for pixels write unit: pixels")
        if self.unit == "pixels" and all(0 <= number <= 1 for number in numbers):
            raise ValueError("a region of one pixel; for fractions of the picture write unit: fraction")
        return self


class Membership(Section):
    """When a box counts as inside a region."""

    mode: Literal["centre", "overlap"] = Field(
        "centre", description="its centre lies inside, or a share of its area does"
    )
    overlap: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5, description="for mode overlap: least share of the box's area"
    )


class CountRule(Section):
    """How often a class must be there: `equals`, or `min` and `max`."""

    count: Name = Field(description="class name")
    equals: Annotated[int, Field(ge=0)] | None = Field(None, description="exactly so many")
    min: Annotated[int, Field(ge=0)] | None = Field(None, description="at least so many")
    max: Annotated[int, Field(ge=0)] | None = Field(None, description="at most so many")
    region: Name | None = Field(None, description="only inside this region; `part` is the part found by the gate")

    @model_validator(mode="after")
    def _says_how_many(self) -> Self:
        bounds = (self.min, self.max)
        if self.equals is None and bounds == (None, None):
            raise ValueError("how many? Add equals, min or max")
        if self.equals is not None and bounds != (None, None):
            raise ValueError("equals stands alone; remove it, or remove min and max")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min ({self.min}) must not be above max ({self.max})")
        return self


class ForbidRule(Section):
    """A class that must not be there."""

    forbid: Name = Field(description="class name")
    min_score: Fraction | None = Field(None, description="only from this score on; null: the class's threshold")
    min_area_px: Annotated[float, Field(ge=0)] = Field(
        0.0, description="only from this box area on, in picture pixels²"
    )
    region: Name | None = Field(None, description="only inside this region")


class RequireRule(Section):
    """A class that must be there at least once; without it the part is not there, or not seen."""

    require: Name = Field(description="class name")
    region: Name | None = Field(None, description="only inside this region")
    otherwise: Literal["NG", "UNKNOWN"] = Field("NG", description="the verdict without it")


def _kind_of_rule(rule: object) -> str | None:
    """Return the tag of the rule that a mapping, or an instance, is; None unless exactly one of the words is there."""
    if isinstance(rule, Section):
        return type(rule).__name__
    words = {"count": "CountRule", "forbid": "ForbidRule", "require": "RequireRule"}
    found = [tag for word, tag in words.items() if isinstance(rule, dict) and word in rule]
    return found[0] if len(found) == 1 else None


Rule: TypeAlias = Annotated[
    Annotated[CountRule, Tag("CountRule")]
    | Annotated[ForbidRule, Tag("ForbidRule")]
    | Annotated[RequireRule, Tag("RequireRule")],
    Discriminator(
        _kind_of_rule,
        custom_error_type="rule_kind",
        custom_error_message="a rule is a mapping with exactly one of count, forbid and require",
    ),
]


class Gate(Section):
    """Makes one verdict per part of a moving line: the whole part nearest the line is judged, once."""

    cls: Name = Field(alias="class", description="class name of the whole part")
    axis: Literal["x", "y"] = Field("x", description="the belt runs along this axis of the picture")
    line: Fraction = Field(0.5, description="where along that axis, as a fraction of the picture")
    edge_px: Annotated[float, Field(ge=0)] = Field(
        8.0, description="a box nearer than this to the picture's edge is cut off"
    )
    margin_px: Annotated[float, Field(ge=0)] = Field(
        0.0, description="the region `part` is the box and so much around it"
    )


class Judge(Section):
    """The rules of one camera."""

    score: Fraction = Field(0.5, description="least score of a detection, for classes not named in scores")
    scores: dict[Name, Fraction] = Field({}, description="least score by class name")
    regions: dict[Name, Region] = Field({}, description="named regions of the picture")
    membership: Membership = Field(Membership(), description="when a box is inside a region")
    rules: list[Rule] = Field([], description="all must hold for OK")
    debounce: Annotated[int, Field(ge=1)] = Field(
        1, description="equal verdicts in a row before it changes (free-running)"
    )


class Camera(Section):
    """One camera and what is asked of its parts."""

    source: Source
    model: Name = Field(description="a key of models")
    small_model: Name | None = Field(
        None, description="a key of models with the same classes and a smaller input, for frames short of time"
    )
    queue: Literal["latest", "every"] | None = Field(
        None, description="newest wins, or nothing skipped; null: every for images and video, else latest"
    )
    priority: Positive = Field(
        1.0, description="share of the pictures under overload: twice the priority, twice as many"
    )
    trigger: Literal["command"] | None = Field(
        None, description="command: only the picture after a trigger command is judged; null: every picture"
    )
    queue_length: Annotated[int, Field(ge=1)] = Field(16, description="for queue: every, pictures that may wait")
    budget_ms: Positive | Literal["inspection", "surveillance"] = Field(
        "inspection", description="milliseconds from exposure to the broker; inspection is 100, surveillance 500"
    )
    deadline: bool | None = Field(
        None, description="publish UNKNOWN/late once the budget is over; null: only for live sources"
    )
    shares: Shares = Field(Shares(), description="percent of the budget that each stage may take")
    gate: Gate | None = Field(None, description="one verdict per part instead of per picture")
    refine: Refine | None = Field(None, description="parts of the picture are looked at again, larger; null: none")
    reuse_static: bool = Field(
        False,
        description="use what was found in the last picture for one the same in every pixel; never for triggers",
    )
    reuse_static_s: Positive = Field(1.0, description="seconds after which the model looks anew all the same")
    shadow: Shadow | None = Field(None, description="a model that is tried beside, without a say; null: none")
    judge: Judge = Field(Judge())
    guard: Guard = Field(Guard())
    isolate: bool = Field(False, description="read the source in a process of its own, whose crash ends nothing else")
    reopen: Reopen = Field(Reopen())

    @property
    def models(self) -> tuple[str, ...]:
        """The keys of models that look at this camera's pictures."""
        second = None if self.refine is None else self.refine.model
        tried = None if self.shadow is None else self.shadow.model
        return tuple(name for name in (self.model, self.small_model, second, tried) if name is not None)


# ── what looks at them ───────────────────────────────────────────────────────────────────────────────────────────────


class Model(Section):
    """One network."""

    path: str = Field(description="an .onnx file, relative to the configuration file")
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = Field(None, description="refuse any other file")
    device: Literal["cpu", "cuda", "tensorrt"] = Field(
        "cpu", description="where it runs; tensorrt: its built engine where there is one, else ONNX Runtime's provider"
    )
    allow_cpu_fallback: bool = Field(False, description="run on the CPU where device can't be had, instead of refusing")
    batches: Annotated[list[Annotated[int, Field(ge=1, le=64)]], Field(min_length=1)] = Field(
        [1], description="pictures in one call, sizes made ready at start; more than 1 needs an open batch axis"
    )
    threads: Annotated[int, Field(ge=1)] | None = Field(None, description="engine threads; null: one per allowed CPU")
    spin_us: Annotated[int, Field(ge=0, le=1000)] = Field(
        30, description="how long such a thread looks for more to do before it sleeps, on the CPU; 0: not at all"
    )
    names: list[Name] | None = Field(None, description="class names in the network's order; null: as the file says")
    input: Input = Field(Input())
    decode: Decode = Field(Decode())
    nms: Nms = Field(Nms())
    engine: BuiltEngine = Field(BuiltEngine(), description="the engine that was built from it")
    verify: Verify = Field(Verify(), description="how an engine is compared with its model before it is used")
    triton: Triton | None = Field(
        None, description="a Triton server that runs it; device is where it runs while that is away; null: none"
    )


# ── where verdicts go ────────────────────────────────────────────────────────────────────────────────────────────────


class Mqtt(Section):
    """The broker."""

    host: Name = Field("127.0.0.1", description="name or address")
    port: Annotated[int, Field(ge=1, le=65535)] = Field(1883, description="usually 1883, with TLS 8883")
    root: Name = Field("taktsight", description="first level of every topic")
    client_id: Annotated[str, Field(max_length=64)] = Field(
        "", description="empty: made of the line and this machine's id"
    )
    username: str | None = Field(None, description="null: no log-in")
    password: str | None = Field(None, repr=False, description="better: password_file")
    password_file: str | None = Field(None, description="a file, or the name of a systemd credential")
    tls: Tls | None = Field(None, description="null: no encryption")
    version: Literal["auto", "5", "3.1.1"] = Field("auto", description="auto: MQTT 5, and 3.1.1 where that is refused")
    encoding: Literal["json", "msgpack"] = Field("json", description="of the payload")
    keepalive_s: Annotated[int, Field(ge=1)] = Field(15, description="seconds")
    max_payload_bytes: Annotated[int, Field(ge=1024)] = Field(262144, description="larger results lose their boxes")
    max_waiting: Annotated[int, Field(ge=1)] = Field(
        10000, description="messages kept in memory while the broker is away"
    )
    max_waiting_bytes: Annotated[int, Field(ge=1)] = Field(
        33554432, description="bytes kept in memory while it is away"
    )
    previews: Previews | None = Field(None, description="small pictures for whoever asks for them; null: none")
    commands: Commands | None = Field(None, description="what may be asked of the line over MQTT; null: nothing")

    @field_validator("host")
    @classmethod
    def _host_is_one_name(cls, host: str) -> str:
        return check_host(host)

    @model_validator(mode="after")
    def _one_password_for_a_user(self) -> Self:
        if self.password is not None and self.password_file is not None:
            raise ValueError("password and password_file exclude one another; remove one")
        if self.username is None and (self.password is not None or self.password_file is not None):
            raise ValueError("a password needs a username; add username")
        return self


class Jsonl(Section):
    """A file with one JSON message a line."""

    path: str = Field(description="appended to; relative to the working folder")


class Config(Section):
    """A whole configuration file."""

    line: Name = Field(description="the line's name, second level of every topic")
    cameras: dict[Name, Camera] = Field(min_length=1)
    models: dict[Name, Model] = Field(min_length=1)
    mqtt: Mqtt | None = Field(Mqtt(), description="null: no broker")
    outbox: Outbox = Field(Outbox(), description="where results wait until the broker has them")
    jsonl: Jsonl | None = Field(None, description="null: no such file")
    evidence: Evidence | None = Field(None, description="null: no pictures are kept")
    collect: Collect | None = Field(None, description="null: no sample for calibration")
    latency: Latency = Field(Latency(), description="what is said of the stages' times, and when it alerts")
    metrics: Metrics | None = Field(None, description="null: no page for Prometheus")
    trace: TraceFile | None = Field(None, description="null: no such file")
    log: Log = Field(Log(), description="what is written to stderr")
    process: Process = Field(Process(), description="what is asked of the interpreter and the system")

    @model_validator(mode="after")
    def _names_lead_somewhere(self) -> Self:
        faults = [text for _, text in dangling(self.model_dump(by_alias=True))]
        if faults:
            raise ValueError("; ".join(faults))
        return self
