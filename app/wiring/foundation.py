"""What stands before the first camera: models, the outbox with its sinks, and whoever measures and keeps account."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from app.config import LoadedConfig
from app.health.board import Board
from app.health.checkup import Checkup
from app.inference.threads import allowed_cpus
from app.latency.recorder import Recorder
from app.ledger import Ledger
from app.preprocess.helpers import Helpers
from app.publish.base import StatusBoard
from app.publish.clock import UtcClock
from app.publish.outbox import Outbox
from app.steady.lull import Lull
from app.steady.urgent import Urgent
from app.wiring.budgets import Budgets
from app.wiring.fused import expected_of
from app.wiring.health import build_board
from app.wiring.models import WiredModel, build_model
from app.wiring.sinks import Watchers, build_outbox
from app.wiring.telemetry import Telemetry
from app.wiring.traces import Tracer, build_tracer


@dataclass(frozen=True, slots=True)
class Foundation:
    """Wired and not entered.

    Attributes:
        parts: what the service enters, in order; more are added.
        helpers: of the inspect thread, which enters them.
        lull: what the inspect thread tells those who can wait.
    """

    clock: UtcClock
    ledger: Ledger
    recorder: Recorder
    models: dict[str, WiredModel]
    telemetry: Telemetry
    tracer: Tracer
    budgets: Budgets
    outbox: Outbox
    status: StatusBoard
    board: Board
    parts: list[AbstractContextManager[Any]]
    helpers: Helpers
    lull: Lull


def lay(loaded: LoadedConfig, watchers: Watchers) -> Foundation:
    """Wire it.

    Raises:
        ModelError: a model file can't be used as configured.
    """
    config, clock, lull = loaded.config, UtcClock(), Lull()
    ledger, recorder = Ledger(config.cameras), Recorder()

    def tell_of(model: str) -> Callable[[str], None]:
        return lambda text: outbox.event("", "engine", text, model=model)

    cpus = config.process.inspect_cpus
    helpers = Helpers((allowed_cpus() if cpus is None else len(cpus)) - 1)
    models = {
        name: build_model(name, section, expected_of(config.cameras, name), tell_of(name), helpers)
        for name, section in config.models.items()
    }
    parts: list[AbstractContextManager[Any]] = []
    engines = {name: (model.engine, model.places) for name, model in models.items()}
    telemetry = Telemetry(loaded, recorder, engines, watchers.log_dropped)
    tracer = build_tracer(loaded, clock, parts, lambda: telemetry.gpu.states)
    urgent = Urgent(config.process.publish_realtime)
    budgets = Budgets(recorder, urgent, telemetry.throttle.reasons)
    outbox, status = build_outbox(config, clock, recorder, watchers, tracer, budgets, telemetry)
    board = build_board(config, ledger, recorder, outbox, status)
    checkup = Checkup(board, status, outbox.event)
    parts += [outbox, budgets.deadline, urgent, *telemetry.parts(outbox, ledger, clock, status, checkup, lull)]
    return Foundation(
        clock, ledger, recorder, models, telemetry, tracer, budgets, outbox, status, board, parts, helpers, lull
    )
