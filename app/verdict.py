"""OK, NG or UNKNOWN, with the reasons, and the outcome of one frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.detections import Detections
    from app.trace import Trace


class Verdict(str, Enum):
    """What is said of a part."""

    OK = "OK"
    NG = "NG"
    UNKNOWN = "UNKNOWN"


class Code(str, Enum):
    """Why: the reason codes of a verdict, stable words that a subscriber may switch on."""

    COUNT = "count"  # NG: a class is not there as often as the rule asks
    FORBIDDEN = "forbidden"  # NG: something is there that must not be
    MISSING = "missing"  # NG: something required is not there
    CAP_REACHED = "cap_reached"  # UNKNOWN: the model or NMS gave its maximum, a count can't be trusted
    UNLOOKED = "unlooked"  # UNKNOWN: there was no time to look again at parts of the picture that must be
    BLACK = "black"  # UNKNOWN from here on: the picture can't be judged
    OVEREXPOSED = "overexposed"
    BLANK = "blank"
    BLURRED = "blurred"
    STARTING = "starting"
    FROZEN = "frozen"
    STALE = "stale"
    TORN = "torn"
    WRONG_SIZE = "wrong_size"
    WRONG_FORMAT = "wrong_format"
    UNREADABLE = "unreadable"
    OVERRUN = "overrun"
    BAD_OUTPUT = "bad_output"
    NO_PART = "no_part"
    PAUSED = "paused"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason of a verdict.

    Attributes:
        code: the stable word.
        text: one line for a person, naming what and where.
        boxes: rows of the outcome's detections that decided; empty where no box did.
    """

    code: Code
    text: str
    boxes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the rules say of one set of detections."""

    verdict: Verdict
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The one outcome of a frame that is published.

    Attributes:
        trace_id: unique for the frame, the key by which a subscriber drops duplicates together with `rev`.
        rev: 1 for the first verdict of a frame, 2 for one that overrides it.
        label: the picture's name at its source.
        part: the part's number since the start where a gate counts parts, else None.
        size_wh: the picture's width and height in pixels.
        detections: boxes in pixels of that picture, all that took part in the judgement.
        region_xyxy: where the part lies when a gate found it, else None.
        model: name, first 12 hex digits of the SHA-256 and execution provider of the engine that ran; empty if none
            ran.
        budget_ms: what the frame was allowed from exposure to the broker's acknowledgement.
        captured_utc_ns: wall clock of the exposure in nanoseconds, a label only.
        clock: what is known of that label: "ok", or "step" where the wall clock was set a moment ago.
        looked: the regions that were looked at twice, in pixels of the picture.
        unlooked: those that would have been, but for the time.
        skipped: steps left out to be on time.
        level: what the budget allowed the frame, a word of `app.latency.base.Level`.
        late: UNKNOWN/late had gone out for the frame before this verdict was known.
        reused: the network did not look: it had seen the same picture a moment ago.
        trigger: the id of the command that asked for the picture; empty where none did.
        nearest: the least distance of a score to a threshold of the rules; None where nobody asked, or none has one.
        evidence: the record beside the picture that is kept of it, below the folder of evidence; empty where none is.
    """

    trace_id: str
    camera: str
    seq: int
    judgement: Judgement
    size_wh: tuple[int, int]
    detections: Detections
    trace: Trace
    budget_ms: float
    captured_utc_ns: int
    rev: int = 1
    label: str = ""
    part: int | None = None
    region_xyxy: tuple[float, float, float, float] | None = None
    model: str = ""
    config_hash: str = ""
    looked: tuple[tuple[int, int, int, int], ...] = ()
    unlooked: tuple[tuple[int, int, int, int], ...] = ()
    skipped: tuple[str, ...] = field(default=())
    clock: str = "ok"
    level: str = "full"
    late: bool = False
    trigger: str = ""
    reused: bool = False
    nearest: float | None = None
    evidence: str = ""
