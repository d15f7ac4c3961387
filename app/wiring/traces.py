"""The trace file: what every outcome's time went into, where the configuration asks for it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from app.config import LoadedConfig, sections
from app.config.budget import budget_ms
from app.frame import Frame
from app.latency.gpu import GpuState
from app.latency.machine import MachineProbe
from app.latency.trace_file import CameraBudget, Run, skipped_trace
from app.latency.trace_writer import TraceWriter
from app.publish.clock import UtcClock
from app.trace import Trace
from app.verdict import Outcome


@dataclass(frozen=True, slots=True)
class Tracer:
    """Takes what is to be traced; nothing of it blocks or raises. By default all is forgotten.

    Attributes:
        put: takes every outcome.
        passed: takes every frame that a gate passed over, with its trace.
        event: takes camera, kind, text and data of everything else that happens.
    """

    put: Callable[[Outcome], None] = field(default=lambda _: None)
    passed: Callable[[Frame, Trace], None] = field(default=lambda *_: None)
    event: Callable[[str, str, str, dict[str, Any]], None] = field(default=lambda *_: None)


def build_tracer(
    loaded: LoadedConfig,
    clock: UtcClock,
    parts: list[AbstractContextManager[Any]],
    gpus: Callable[[], Mapping[str, GpuState]] = dict,
) -> Tracer:
    """Wire the trace file, if any, and add it to what the service enters: before the outbox, so that it ends after."""
    section = loaded.config.trace
    if section is None:
        return Tracer()
    run = run_of(loaded, clock)
    writer = TraceWriter(section, run, probe=MachineProbe(gpus=gpus))
    parts.append(writer)

    def passed(frame: Frame, trace: Trace) -> None:
        if random.random() < section.passed_over:  # noqa: S311 - a sample of frames, not a secret
            utc_ns = clock.label(frame.picture.exposed_ns).utc_ns
            allowed_ms = run.cameras[frame.camera].budget_ms
            writer.put_record(skipped_trace(frame, trace, budget_ms=allowed_ms, captured_utc_ns=utc_ns))

    return Tracer(writer.put, passed, writer.event)


def run_of(loaded: LoadedConfig, clock: UtcClock) -> Run:
    """Return the first line of the trace file."""
    now_ns = time.monotonic_ns()
    return Run(
        line=loaded.config.line,
        version=version("taktsight"),
        config=loaded.sha256[:12],
        started_ns=now_ns,
        started_utc_ns=clock.label(now_ns).utc_ns,
        cameras={name: _budget_of(camera) for name, camera in loaded.config.cameras.items()},
    )


def _budget_of(camera: sections.Camera) -> CameraBudget:
    allowed_ms = budget_ms(camera.budget_ms)
    return CameraBudget(budget_ms=allowed_ms, stages_ms=camera.shares.stages_ms(allowed_ms))
