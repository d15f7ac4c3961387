"""The whole product from its configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Condition
from typing import Any
from uuid import uuid4

from app.capture.state import CameraState
from app.config import LoadedConfig, sections
from app.config.budget import budget_ms
from app.engine import Engine
from app.errors import ConfigError
from app.frame import AnyImage
from app.health.board import Board
from app.health.checkup import Checkup
from app.inspector import Inspector
from app.latency.recorder import Recorder
from app.ledger import Ledger
from app.pipeline import Emit, Pipeline
from app.publish.base import StatusBoard
from app.publish.clock import UtcClock
from app.publish.outbox import Outbox
from app.refine import Refiner, SecondLook
from app.schedule import Lane, Schedule
from app.service import Service
from app.steady.steady import Steady
from app.steady.urgent import Urgent
from app.verdict import Outcome
from app.wiring.budgets import Budgets
from app.wiring.cameras import (
    Channel,
    build_feed,
    build_gate,
    build_handoff,
    build_judge,
    build_source,
    build_steady,
    put_in,
    queue_of,
)
from app.wiring.health import build_board
from app.wiring.jitter import build_jitter
from app.wiring.models import WiredModel, build_model
from app.wiring.second_look import EngineLooks, build_refiner
from app.wiring.sinks import Watchers, build_evidence, build_outbox, build_previews
from app.wiring.swap import Swap
from app.wiring.telemetry import Telemetry
from app.wiring.traces import Tracer, build_tracer


@dataclass(frozen=True, slots=True)
class Product:
    """The wired product and what can be asked of it."""

    service: Service
    ledger: Ledger
    outbox: Outbox
    recorder: Recorder
    budgets: Budgets
    board: Board


@dataclass(frozen=True, slots=True)
class Shared:
    """What all cameras of one service have in common.

    Attributes:
        run_id: unique for this start of the service.
        bell: rung by every hand-off.
        emit: takes every outcome with its picture.
        tell: takes every change of a camera's state.
        swap: what stands in the place of the product's own parts.
        tracer: takes what the trace file is made of.
        budgets: keeps every camera to its budget.
    """

    loaded: LoadedConfig
    models: Mapping[str, WiredModel]
    ledger: Ledger
    outbox: Outbox
    clock: UtcClock
    run_id: str
    bell: Condition
    emit: Emit
    tell: Callable[[str, CameraState, str], None]
    swap: Swap
    tracer: Tracer
    budgets: Budgets


@dataclass(frozen=True, slots=True)
class WiredCamera:
    """One camera's places in the path of a frame, and the engines that look at it."""

    channel: Channel
    lane: Lane
    pipeline: Pipeline
    engines: tuple[Engine, ...]


def build(loaded: LoadedConfig, watchers: Watchers | None = None, swap: Swap | None = None) -> Product:
    """Wire a configuration; loads no engine and opens no camera yet.

    Raises:
        ModelError: a model file can't be used as configured.
        ConfigError: rules and model don't fit together.
    """
    config, watchers, swap, clock = loaded.config, watchers or Watchers(), swap or Swap(), UtcClock()
    ledger, recorder = Ledger(config.cameras), Recorder()
    models = {name: build_model(name, section) for name, section in config.models.items()}
    parts: list[AbstractContextManager[Any]] = []
    places = {name: model.places for name, model in models.items()}
    telemetry = Telemetry(loaded, recorder, places, watchers.log_dropped)
    tracer = build_tracer(loaded, clock, parts, lambda: telemetry.gpu.states)
    budgets = Budgets(recorder, telemetry.throttle.reasons)
    outbox, status = build_outbox(config, clock, recorder, watchers, tracer, budgets, telemetry)
    board = build_board(config, ledger, recorder, outbox)
    checkup = Checkup(board, status, outbox.event)
    parts += [outbox, budgets.deadline, *telemetry.parts(outbox, ledger, clock, status, checkup)]
    keep = build_evidence(config.evidence, parts) if config.evidence else lambda *_: None
    preview = build_previews(config, parts, telemetry)
    parts.append(Urgent(config.process.publish_realtime))

    def tell(camera: str, state: CameraState, text: str) -> None:
        board.set_camera(camera, state, text)
        status.set_camera(camera, state is CameraState.ONLINE)
        telemetry.set_camera(camera, state is CameraState.ONLINE)
        outbox.event(camera, "camera", text, state=state.value)

    def emit(outcome: Outcome, image: AnyImage) -> None:
        board.judged(outcome)
        watchers.on_judged(outcome)
        outbox.put(outcome)  # before all that can wait: the threads that these wake compete for the interpreter
        keep(outcome, image)
        tracer.put(outcome)
        preview(outcome, image)

    run_id = uuid4().hex[:8]
    shared = Shared(
        loaded, models, ledger, outbox, clock, run_id, Condition(), swap.emit(emit), tell, swap, tracer, budgets
    )
    cameras = {name: build_camera(name, section, shared) for name, section in config.cameras.items()}
    channels = {name: camera.channel for name, camera in cameras.items()}
    inspector = build_inspector(cameras, shared, status)
    return Product(Service(parts, inspector, channels), ledger, outbox, recorder, budgets, board)


def build_inspector(cameras: Mapping[str, WiredCamera], shared: Shared, status: StatusBoard) -> Inspector:
    """Wire the inspect thread: every engine once, every camera's pipeline, and which frame goes next."""
    engines = [engine for camera in cameras.values() for engine in camera.engines]
    return Inspector(
        backends_of(engines),
        {name: camera.pipeline for name, camera in cameras.items()},
        Schedule({name: camera.lane for name, camera in cameras.items()}, shared.bell),
        on_ready=lambda: status.set_models(list(dict.fromkeys(engine.label() for engine in engines))),
        steady=Steady(shared.loaded.config.process),
    )


def build_camera(name: str, section: sections.Camera, shared: Shared) -> WiredCamera:
    """Wire one camera from its source to its verdicts."""
    swap, refiner = shared.swap, build_refiner(section, shared.models)
    check_small(name, section, shared)
    engines = {key: swap.engine(name, shared.models[key].engine) for key in dict.fromkeys(section.models)}
    names = shared.models[section.model].names if refiner is None else refiner.names
    judge = build_judge(shared.loaded, name, names)
    least = judge.min_score()
    allowed_ms = budget_ms(section.budget_ms)
    pipeline = Pipeline(
        run_id=shared.run_id,
        config_hash=shared.loaded.sha256[:12],
        budget_ms=allowed_ms,
        engine=engines[section.model],
        min_score=least if refiner is None else min(least, refiner.min_score),
        gate=build_gate(section, names),
        judge=swap.judge(name, judge),
        ledger=shared.ledger,
        emit=shared.emit,
        steady=build_steady(name, section.judge.debounce, shared.outbox, shared.clock),
        utc=shared.clock.label,
        small=engines.get(section.small_model or ""),
        second=build_second(name, section, refiner, engines, least, swap),
        coarse_first=section.refine is not None and section.refine.coarse_first,
        on_passed=shared.tracer.passed,
        planner=shared.budgets.planner(name, section, shared.outbox.event),
        watch=shared.budgets.watch(section),
    )
    jitter = build_jitter(name, section.source, allowed_ms, shared.outbox.event)
    handoff = build_handoff(section, shared.bell, shared.ledger, jitter)
    # Each trigger gets its verdict by the deadline, wherever it waits; a frame that may be overwritten must be picked.
    every = queue_of(section) == "every"
    expect = pipeline.expect if every else lambda frame: jitter.add(frame.picture.exposed_ns)
    source = swap.source(name, build_source(section.source))
    feed = build_feed(name, section, source, put_in(handoff, shared.ledger, expect), shared.tell)
    return WiredCamera(Channel(feed, handoff), Lane(handoff, int(allowed_ms * 1e6)), pipeline, tuple(engines.values()))


def check_small(name: str, section: sections.Camera, shared: Shared) -> None:
    """See that the network for frames that are short of time, where there is one, knows the same classes.

    Raises:
        ConfigError: it does not.
    """
    if section.small_model is None or shared.models[section.small_model].names == shared.models[section.model].names:
        return
    where = shared.loaded.where("cameras", name, "small_model")
    raise ConfigError(f"{where}: it has other classes than `{section.model}`; the rules need the same in both")


def build_second(
    name: str,
    section: sections.Camera,
    refiner: Refiner | None,
    engines: Mapping[str, Engine],
    min_score: float,
    swap: Swap,
) -> SecondLook | None:
    """Wire the second look with the engine that looks, where there is one."""
    if refiner is None or section.refine is None:
        return None
    return swap.second(name, EngineLooks(refiner, engines[section.refine.model or section.model], min_score))


def backends_of(engines: Iterable[Engine]) -> list[AbstractContextManager[Any]]:
    """Return every engine's backend, once each, however many cameras use it."""
    return list(dict.fromkeys(engine.backend for engine in engines))
