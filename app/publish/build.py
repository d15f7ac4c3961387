"""Outcome → message: plain Python numbers, non-finite ones as null with their names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from app.detections import Detections
from app.publish.clock import Label, iso_utc
from app.publish.message import DetectionMessage, Event, ReasonMessage, Result, Stages, Xyxy
from app.trace import Trace
from app.verdict import Code, Outcome, Reason, Verdict

MAX_DEPTH = 8
MAX_NAMED = 32
"""Fields named in `invalid_fields`, at most."""


def message_id(outcome: Outcome) -> str:
    """Return the id of an outcome's message: the same whenever it is sent again."""
    return f"{outcome.trace_id}.{outcome.rev}"


def result_of(outcome: Outcome, line: str) -> Result:
    """Return the message of an outcome; numbers may be NumPy's anywhere in it.

    A number that is not finite becomes null and is named in `invalid_fields`. Where it is a box or a score, the verdict
    rests on nothing, so that OK becomes UNKNOWN.

    Args:
        outcome: read, not kept.
        line: the line's name as configured.
    """
    invalid: list[str] = []
    detections = _detections(outcome.detections, invalid)
    verdict, reasons = _judgement(outcome, decisive=list(invalid))
    width, height = outcome.size_wh
    return Result(
        id=message_id(outcome),
        trace_id=str(outcome.trace_id),
        line=line,
        camera=str(outcome.camera),
        seq=int(outcome.seq),
        rev=int(outcome.rev),
        late=bool(outcome.late),
        verdict=verdict,
        reasons=[_reason(reason) for reason in reasons],
        part=None if outcome.part is None else int(outcome.part),
        label=str(outcome.label),
        width=int(width),
        height=int(height),
        detections=detections,
        region=None if outcome.region_xyxy is None else _xyxy(outcome.region_xyxy, "region", invalid),
        stages_ms=_stages(outcome.trace, invalid),
        total_ms=_number(outcome.trace.total_ms, 3, "total_ms", invalid),
        budget_ms=_number(outcome.budget_ms, 3, "budget_ms", invalid),
        level=str(outcome.level),
        looked=_regions(outcome.looked),
        unlooked=_regions(outcome.unlooked),
        skipped=[str(step) for step in outcome.skipped],
        captured_utc=iso_utc(int(outcome.captured_utc_ns)),
        clock=str(outcome.clock),
        model=str(outcome.model),
        config=str(outcome.config_hash),
        invalid_fields=_named(invalid),
        truncated=bool(outcome.detections.truncated),
        trigger=str(outcome.trigger),
        reused=bool(outcome.reused),
        evidence=str(outcome.evidence),
    )


def event_of(
    event_id: str, line: str, *, camera: str, kind: str, text: str, data: Mapping[Any, Any], at: Label
) -> Event:
    """Return an event; `data` may hold NumPy numbers and arrays, and keys that are numbers."""
    invalid: list[str] = []
    clean = {str(key): plain(value, f"data.{key}", invalid) for key, value in data.items()}
    return Event(
        id=event_id,
        line=line,
        camera=camera,
        kind=kind,
        text=text,
        utc=iso_utc(at.utc_ns),
        clock=at.note,
        data=clean,
        invalid_fields=_named(invalid),
    )


def plain(value: Any, name: str, invalid: list[str], depth: int = MAX_DEPTH) -> Any:  # noqa: ANN401 - any value is the point
    """Return a value made of what JSON has; numbers that are not finite become None and are named in `invalid`."""
    if value is None or isinstance(value, str):
        return value
    if depth == 0:
        return str(value)
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist(), name, invalid, depth - 1)
    if isinstance(value, Mapping):
        return {str(key): plain(item, f"{name}.{key}", invalid, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, f"{name}[{i}]", invalid, depth - 1) for i, item in enumerate(value)]
    return _scalar(value, name, invalid)


def _scalar(value: object, name: str, invalid: list[str]) -> str | bool | int | float | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return _number(value, 6, name, invalid)
    return str(value)


def _judgement(outcome: Outcome, decisive: list[str]) -> tuple[Verdict, tuple[Reason, ...]]:
    """Return the verdict; never OK where a box or a score is no number."""
    judgement = outcome.judgement
    if not decisive or judgement.verdict is not Verdict.OK:
        return judgement.verdict, judgement.reasons
    text = f"{decisive[0]} is not a finite number, so OK can't be trusted"
    return Verdict.UNKNOWN, (*judgement.reasons, Reason(Code.BAD_OUTPUT, text))


def _regions(regions: Iterable[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    return [(int(left), int(top), int(right), int(bottom)) for left, top, right, bottom in regions]


def _reason(reason: Reason) -> ReasonMessage:
    return ReasonMessage(code=str(reason.code.value), text=str(reason.text), boxes=[int(row) for row in reason.boxes])


def _detections(found: Detections, invalid: list[str]) -> list[DetectionMessage]:
    xyxy, scores = _rounded(found.xyxy, 2), _rounded(found.scores, 4)
    if found.angles_rad is None and np.isfinite(found.xyxy).all() and np.isfinite(found.scores).all():
        # Nearly every frame: nothing has to be asked of each number, which takes a third of the time.
        rows = zip(range(len(found)), scores.tolist(), xyxy.tolist(), strict=True)
        return [DetectionMessage(name=found.name(row), score=score, xyxy=tuple(box)) for row, score, box in rows]
    angles = None if found.angles_rad is None else _rounded(found.angles_rad, 4)
    messages: list[DetectionMessage] = []
    for row in range(len(found)):
        name = f"detections[{row}]"
        messages.append(
            DetectionMessage(
                name=found.name(row),
                score=_number(scores[row], 4, f"{name}.score", invalid),
                xyxy=_xyxy(tuple(xyxy[row]), f"{name}.xyxy", invalid),
                angle_rad=msgspec.UNSET if angles is None else _number(angles[row], 4, f"{name}.angle_rad", invalid),
            )
        )
    return messages


def _rounded(values: NDArray[np.float32], digits: int) -> NDArray[np.float64]:
    """Round in float64: a float32 rounded to 0.9 is written 0.8999999761581421."""
    rounded: NDArray[np.float64] = np.asarray(values, np.float64).round(digits)
    return rounded


def _xyxy(values: tuple[float, float, float, float] | list[float], name: str, invalid: list[str]) -> Xyxy:
    left, top, right, bottom = (_number(value, 2, name, invalid) for value in values)
    return left, top, right, bottom


def _stages(trace: Trace, invalid: list[str]) -> Stages:
    columns = trace.columns_ms()
    return Stages(
        **{
            column: None if spent is None else _number(spent, 3, f"stages_ms.{column}", invalid)
            for column, spent in columns.items()
        }
    )


def _number(value: Real | float, digits: int, name: str, invalid: list[str]) -> float | None:
    number = float(value)
    if math.isfinite(number):
        return round(number, digits)
    invalid.append(name)
    return None


def _named(invalid: list[str]) -> list[str]:
    return list(dict.fromkeys(invalid))[:MAX_NAMED]
