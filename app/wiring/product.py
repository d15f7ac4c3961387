"""The whole product from its configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Condition
from typing import Any
from uuid import uuid4

from app.capture.state import CameraState
from app.config import LoadedConfig
from app.engine import Engine
from app.evidence.settings import Settings
from app.frame import AnyImage
from app.health.board import Board
from app.health.checkup import Checkup
from app.inspector import Inspector
from app.latency.recorder import Recorder
from app.ledger import Ledger
from app.pipeline import Emit
from app.publish.base import StatusBoard
from app.publish.clock import UtcClock
from app.publish.outbox import Outbox
from app.schedule import Schedule
from app.service import Service
from app.shadow import Shadow
from app.steady.steady import Steady
from app.steady.urgent import Urgent
from app.verdict import Outcome
from app.wiring.budgets import Budgets
from app.wiring.camera import InForce, Shared, WiredCamera, build_camera
from app.wiring.commands import Executor, build_commands
from app.wiring.exchange import Exchange, Probation
from app.wiring.fused import expected_of
from app.wiring.health import build_board
from app.wiring.models import build_model
from app.wiring.reload import Keepers, Reload
from app.wiring.shadow import build_shadow, candidates_of
from app.wiring.sinks import Keep, Watchers, build_evidence, build_outbox, build_previews
from app.wiring.snapshots import Snapshots
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
    reload: Reload


def build(loaded: LoadedConfig, watchers: Watchers | None = None, swap: Swap | None = None) -> Product:
    """Wire a configuration; loads no engine and opens no camera yet.

    Raises:
        ModelError: a model file can't be used as configured.
        ConfigError: rules and model don't fit together.
    """
    config, watchers, swap, clock = loaded.config, watchers or Watchers(), swap or Swap(), UtcClock()
    ledger, recorder = Ledger(config.cameras), Recorder()

    def tell_of(model: str) -> Callable[[str], None]:
        return lambda text: outbox.event("", "engine", text, model=model)

    def ask(change: Callable[[], None]) -> None:
        service.ask(change)

    models = {
        name: build_model(name, section, expected_of(config.cameras, name), tell_of(name))
        for name, section in config.models.items()
    }
    parts: list[AbstractContextManager[Any]] = []
    engines = {name: (model.engine, model.places) for name, model in models.items()}
    telemetry = Telemetry(loaded, recorder, engines, watchers.log_dropped)
    tracer = build_tracer(loaded, clock, parts, lambda: telemetry.gpu.states)
    budgets = Budgets(recorder, telemetry.throttle.reasons)
    outbox, status = build_outbox(config, clock, recorder, watchers, tracer, budgets, telemetry)
    board = build_board(config, ledger, recorder, outbox, status)
    checkup = Checkup(board, status, outbox.event)
    parts += [outbox, budgets.deadline, *telemetry.parts(outbox, ledger, clock, status, checkup)]
    snapshots = Snapshots()
    in_force = InForce(loaded)
    hashes = {name: model.sha256 for name, model in models.items()}
    settings = Settings(lambda: in_force.loaded, hashes)
    probation = Probation(ask)
    keep = build_evidence(config, settings, outbox, parts, snapshots, lambda: service.is_hurried)
    shadow = build_shadow(candidates_of(loaded, models), outbox, keep)
    preview, add_preview = build_previews(config, parts, telemetry)
    parts.append(Urgent(config.process.publish_realtime))

    emit = _emitter(board, probation, watchers, outbox, keep, tracer, preview, shadow)
    shared = Shared(
        in_force,
        models,
        {},
        {},
        ledger,
        outbox,
        clock,
        uuid4().hex[:8],
        Condition(),
        swap.emit(emit),
        _teller(board, status, telemetry, outbox),
        swap,
        tracer,
        budgets,
    )
    cameras = {name: build_camera(name, section, shared) for name, section in config.cameras.items()}
    shared.pipelines.update((name, camera.pipeline) for name, camera in cameras.items())
    inspector = build_inspector(cameras, shared, status, telemetry.called, shadow)
    service = Service(parts, inspector, {name: camera.channel for name, camera in cameras.items()})
    keepers = Keepers(ledger, board, status, telemetry, add_preview, hashes, shadow)
    exchange = Exchange(inspector, shared.models, outbox.event)
    reload = Reload(shared, cameras, service, inspector, keepers, exchange, probation)
    if config.mqtt is not None and config.mqtt.commands is not None:
        asked = snapshots if config.evidence else None
        execute = Executor(service, inspector, reload, shared.pipelines, shared.triggers, asked, board.is_online)
        parts.append(build_commands(config.mqtt, config.line, execute, outbox, clock))
    return Product(service, ledger, outbox, recorder, budgets, board, reload)


def _teller(
    board: Board, status: StatusBoard, telemetry: Telemetry, outbox: Outbox
) -> Callable[[str, CameraState, str], None]:
    """Return what takes every change of a camera's state."""

    def tell(camera: str, state: CameraState, text: str) -> None:
        board.set_camera(camera, state, text)
        status.set_camera(camera, state is CameraState.ONLINE, state.value)
        telemetry.set_camera(camera, state is CameraState.ONLINE)
        outbox.event(camera, "camera", text, state=state.value)

    return tell


def _emitter(
    board: Board,
    probation: Probation,
    watchers: Watchers,
    outbox: Outbox,
    keep: Keep,
    tracer: Tracer,
    preview: Emit,
    shadow: Shadow,
) -> Emit:
    """Return what takes every outcome with its picture; called on the path of a frame, so nothing in it waits."""

    def emit(outcome: Outcome, image: AnyImage) -> None:
        outcome, kept = keep.plan(outcome, image)  # the message names what is kept of it
        board.judged(outcome)
        probation.judged(outcome)
        watchers.on_judged(outcome)
        outbox.put(outcome)  # before all that can wait: the threads that these wake compete for the interpreter
        keep.put(kept)
        tracer.put(outcome)
        preview(outcome, image)
        shadow.offer(outcome, image)

    return emit


def build_inspector(
    cameras: Mapping[str, WiredCamera],
    shared: Shared,
    status: StatusBoard,
    on_call: Callable[[Engine, int], None],
    shadow: Shadow,
) -> Inspector:
    """Wire the inspect thread: every engine once, every camera's pipeline, and which frame goes next."""
    engines = [engine for camera in cameras.values() for engine in camera.engines]

    def ready() -> None:
        status.set_models(list(dict.fromkeys(engine.label() for engine in engines)))
        shadow.warm()

    return Inspector(
        backends_of(engines),
        shared.pipelines,
        Schedule({name: camera.lane for name, camera in cameras.items()}, shared.bell),
        on_ready=ready,
        steady=Steady(shared.loaded.config.process),
        max_wait_ms=shared.loaded.config.process.max_batch_wait_ms,
        on_call=on_call,
        on_idle=shadow.idle,
    )


def backends_of(engines: Iterable[Engine]) -> list[AbstractContextManager[Any]]:
    """Return every engine's backend, once each, however many cameras use it."""
    return list(dict.fromkeys(engine.backend for engine in engines))
