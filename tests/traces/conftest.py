"""Made-up traces in which it is known who makes frames slow."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from app.latency.trace_file import THREADS, CameraBudget, FrameTrace, Run, Span, SystemEvent, encode_record
from app.verdict import Verdict

MS = 1_000_000
USUAL_MS = {
    "capture": 4.0,
    "guard": 0.2,
    "slot": 0.5,
    "preprocess": 2.0,
    "inference": 20.0,
    "decode": 0.7,
    "gate": 0.3,
    "judge": 0.6,
    "publish": 2.0,
    "present": 1.0,
}
PERIOD_MS = 50
Make = Callable[..., FrameTrace]


def make_frame(seq: int, *, camera: str = "front", gap_ms: float = 0.0, **more: object) -> FrameTrace:
    """One frame, exposed at its turn; `more` are steps with their milliseconds (None: it did not run) or fields.

    `gap_ms` is time between decode and gate in which no step ran.
    """
    steps = {**USUAL_MS, **{name: more.pop(name) for name in list(more) if name in USUAL_MS}}
    exposed_ns = seq * PERIOD_MS * MS
    at_ns, spans = exposed_ns, []
    for step, spent_ms in steps.items():
        if spent_ms is None:
            continue
        if step == "gate":
            at_ns += int(gap_ms * MS)
        ended_ns = at_ns + int(spent_ms * MS)
        spans.append(Span(step, THREADS[step].format(camera=camera), at_ns, ended_ns))
        at_ns = ended_ns
    fields = {
        "trace_id": f"run-{camera}-{seq:06d}",
        "camera": camera,
        "seq": seq,
        "verdict": Verdict.OK,
        "budget_ms": 100.0,
        "captured_utc_ns": 1_700_000_000_000_000_000 + exposed_ns,
        "exposed_ns": exposed_ns,
        "spans": spans,
    }
    return FrameTrace(**{**fields, **more})


def jitter(seq: int) -> dict[str, float]:
    """Small differences between frames, the same in every run of the tests."""
    rng = random.Random(seq)
    return {step: spent_ms * rng.uniform(0.9, 1.1) for step, spent_ms in USUAL_MS.items()}


def event(kind: str, began_ns: int, ended_ns: int | None = None, **fields: object) -> SystemEvent:
    """One event; without an end it has no length."""
    return SystemEvent(
        **{
            "kind": kind,
            "text": f"{kind} happened",
            "began_ns": began_ns,
            "ended_ns": began_ns if ended_ns is None else ended_ns,
            **fields,
        }
    )


@pytest.fixture
def run() -> Run:
    stages_ms = {"capture": 15.0, "preprocess": 5.0, "inference": 35.0, "postprocess": 15.0, "network": 5.0}
    return Run(
        line="covers",
        version="0.1.0",
        config="b93e92959379",
        started_ns=1,
        started_utc_ns=1_796_011_977_000_000_000,
        cameras={"front": CameraBudget(budget_ms=100.0, stages_ms=stages_ms)},
    )


@pytest.fixture
def write(tmp_path: Path, run: Run) -> Callable[..., Path]:
    """Write records to a trace file."""

    def write_all(*records: FrameTrace | SystemEvent, name: str = "trace.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(b"".join(encode_record(record) for record in (run, *records)))
        return path

    return write_all
