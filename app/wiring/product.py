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
from app.inspector import Inspector
from app.latency.recorder import Recorder
from app.ledger import Ledger
from app.pipeline import Emit
from app.publish.outbox import Outbox
from app.schedule import Schedule
from app.service import Service
from app.shadow import Shadow
from app.steady.steady import Steady
from app.verdict import Outcome
from app.wiring.budgets import Budgets
from app.wiring.camera import InForce, Shared, WiredCamera, build_camera
from app.wiring.commands import Executor, build_commands
from app.wiring.exchange import Exchange, Probation
from app.wiring.foundation import Foundation, lay
from app.wiring.reload import Keepers, Reload
from app.wiring.shadow import build_shadow, candidates_of
from app.wiring.sinks import Keep, Watchers, build_evidence, build_previews
from app.wiring.snapshots import Snapshots
from app.wiring.swap import Swap


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
    config, watchers, swap = loaded.config, watchers or Watchers(), swap or Swap()
    base = lay(loaded, watchers)
    outbox, status, board = base.outbox, base.status, base.board

    def ask(change: Callable[[], None]) -> None:
        service.ask(change)

    snapshots, in_force, probation = Snapshots(), InForce(loaded), Probation(ask)
    hashes = {name: model.sha256 for name, model in base.models.items()}
    settings = Settings(lambda: in_force.loaded, hashes)
    keep = build_evidence(config, settings, outbox, base.parts, snapshots, lambda: service.is_hurried, base.lull)
    shadow = build_shadow(candidates_of(loaded, base.models), outbox, keep)
    base.telemetry.trials = shadow.counts
    preview, add_preview = build_previews(config, base.parts, base.telemetry, base.lull)
    emit = swap.emit(_emitter(base, probation, watchers, keep, preview, shadow))
    shared = _shared(base, in_force, emit, swap)
    cameras = {name: build_camera(name, section, shared) for name, section in config.cameras.items()}
    shared.pipelines.update((name, camera.pipeline) for name, camera in cameras.items())
    inspector = build_inspector(cameras, shared, base, shadow)
    service = Service(base.parts, inspector, {name: camera.channel for name, camera in cameras.items()})
    keepers = Keepers(base.ledger, board, status, base.telemetry, add_preview, hashes, shadow)
    exchange = Exchange(inspector, shared.models, outbox.event, service.aside, base.helpers)
    reload = Reload(shared, cameras, service, inspector, keepers, exchange, probation)
    if config.mqtt is not None and config.mqtt.commands is not None:
        asked = snapshots if config.evidence else None
        execute = Executor(service, inspector, reload, shared.pipelines, shared.triggers, asked, board.is_online)
        base.parts.append(build_commands(config.mqtt, config.line, execute, outbox, base.clock))
    return Product(service, base.ledger, outbox, base.recorder, base.budgets, board, reload)


def _shared(base: Foundation, in_force: InForce, emit: Emit, swap: Swap) -> Shared:
    """Put together what all cameras have in common."""
    return Shared(
        in_force=in_force,
        models=base.models,
        pipelines={},
        triggers={},
        ledger=base.ledger,
        outbox=base.outbox,
        clock=base.clock,
        run_id=uuid4().hex[:8],
        bell=Condition(),
        emit=emit,
        tell=_teller(base),
        swap=swap,
        tracer=base.tracer,
        budgets=base.budgets,
    )


def _teller(base: Foundation) -> Callable[[str, CameraState, str], None]:
    """Return what takes every change of a camera's state."""

    def tell(camera: str, state: CameraState, text: str) -> None:
        base.board.set_camera(camera, state, text)
        base.status.set_camera(camera, state is CameraState.ONLINE, state.value)
        base.telemetry.set_camera(camera, state is CameraState.ONLINE)
        base.outbox.event(camera, "camera", text, state=state.value)

    return tell


def _emitter(
    base: Foundation, probation: Probation, watchers: Watchers, keep: Keep, preview: Emit, shadow: Shadow
) -> Emit:
    """Return what takes every outcome with its picture; called on the path of a frame, so nothing in it waits."""

    def emit(outcome: Outcome, image: AnyImage) -> None:
        outcome, kept = keep.plan(outcome, image)  # the message names what is kept of it
        base.board.judged(outcome)
        probation.judged(outcome)
        watchers.on_judged(outcome)
        base.outbox.put(outcome)  # before all that can wait: the threads that these wake compete for the interpreter
        keep.put(kept)
        base.tracer.put(outcome)
        preview(outcome, image)
        shadow.offer(outcome, image)

    return emit


def build_inspector(
    cameras: Mapping[str, WiredCamera],
    shared: Shared,
    base: Foundation,
    shadow: Shadow,
) -> Inspector:
    """Wire the inspect thread: every engine once, every camera's pipeline, and which frame goes next."""
    engines = [engine for camera in cameras.values() for engine in camera.engines]

    def ready() -> None:
        base.status.set_models(list(dict.fromkeys(engine.label() for engine in engines)))
        shadow.warm()

    return Inspector(
        [base.helpers, *backends_of(engines)],
        shared.pipelines,
        Schedule({name: camera.lane for name, camera in cameras.items()}, shared.bell),
        on_ready=ready,
        steady=Steady(shared.loaded.config.process),
        lull=base.lull,
        max_wait_ms=shared.loaded.config.process.max_batch_wait_ms,
        on_call=base.telemetry.called,
        on_idle=shadow.idle,
    )


def backends_of(engines: Iterable[Engine]) -> list[AbstractContextManager[Any]]:
    """Return every engine's backend, once each, however many cameras use it."""
    return list(dict.fromkeys(engine.backend for engine in engines))
