"""What is seen of the line while it runs: latencies on MQTT, alerts, the page for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from app.config import LoadedConfig
from app.config.budget import budget_ms
from app.engine import Engine
from app.figures import Figures
from app.health.checkup import EVERY_S as HEALTH_S
from app.health.checkup import Checkup
from app.latency.alarms import Alarms
from app.latency.batches import Batches
from app.latency.gpu_find import find_gpu_probe
from app.latency.gpu_meter import EVERY_S, GpuMeter
from app.latency.presentation import Presentation
from app.latency.recorder import Recorder
from app.latency.rounds import Job, Rounds
from app.latency.throttle import CpuThrottle, Throttle
from app.ledger import Ledger
from app.publish.answers import Answer
from app.publish.base import StatusBoard
from app.publish.clock import UtcClock
from app.publish.credits import Shown
from app.publish.outbox import Outbox
from app.steady.lull import Lull
from app.wiring.budgets import has_deadline

ALERTS_S = 10.0
BATCHES_S = 60.0
LOG_S = 10.0
LULL_S = 0.1
"""What is measured of the line waits so long for a moment in which no frame is looked at."""


class DroppedLines:
    """Tells the status of lines that the log has dropped, when there are more.

    Args:
        dropped: how many so far.
        status: told of it.
    """

    def __init__(self, dropped: Callable[[], int], status: StatusBoard) -> None:
        self._dropped, self._status = dropped, status
        self._told = 0

    def look(self) -> None:
        """Tell it if there is something new."""
        if (dropped := self._dropped()) != self._told:
            self._told = dropped
            self._status.set_log_dropped(dropped)


class Telemetry:
    """Collects what no other part keeps, and shows all of it.

    Args:
        loaded: the whole configuration.
        recorder: takes the times.
        engines: by model, with the places of a batch.
        log_dropped: says how many lines of the log were dropped so far.

    Attributes:
        previews: says how many watch each camera's previews, and how many they were sent.
        trials: says what became of the pictures that were chosen for candidates.
        gpu: the GPUs as they are; none where no model runs on one.
        throttle: what holds the machine back.
    """

    def __init__(
        self,
        loaded: LoadedConfig,
        recorder: Recorder,
        engines: Mapping[str, tuple[Engine, int]],
        log_dropped: Callable[[], int] = lambda: 0,
    ) -> None:
        self._loaded = loaded
        self._config = loaded.config
        self._recorder = recorder
        self.set_engines(engines)
        self._presentation = Presentation()
        self._watched = Presentation()
        self._log_dropped = log_dropped
        self.previews: Callable[[], Mapping[str, tuple[int, int]]] = dict
        self.trials: Callable[[], Mapping[tuple[str, str, str], int]] = dict
        self._batches = Batches()
        self.gpu = GpuMeter(find_gpu_probe() if self._wants_gpu else None)
        self.throttle = Throttle(CpuThrottle(), lambda: self.gpu.states)
        self._alarms: Alarms | None = None
        self._budgets_ms: dict[str, float] = {}
        self._deadlines_ms: dict[str, float] = {}
        self._online: dict[str, bool] = {}
        self.configure(loaded)

    def set_engines(self, engines: Mapping[str, tuple[Engine, int]]) -> None:
        """Know the engines by model, with the places of a batch."""
        self._places = {model: places for model, (_, places) in engines.items()}
        self._model_of = {id(engine): model for model, (engine, _) in engines.items()}

    def configure(self, loaded: LoadedConfig) -> None:
        """Go by another configuration from now on: its cameras, budgets and alerts."""
        self._loaded, self._config = loaded, loaded.config
        cameras = self._config.cameras
        for known in (self._budgets_ms, self._deadlines_ms, self._online):
            for name in known.keys() - cameras.keys():
                del known[name]
        for name, camera in cameras.items():
            self._budgets_ms[name] = budget_ms(camera.budget_ms)
            self._online.setdefault(name, False)
            if has_deadline(camera):
                self._deadlines_ms[name] = self._budgets_ms[name]
            else:
                self._deadlines_ms.pop(name, None)
        if self._alarms is not None:
            self._alarms.configure(self._config.latency.alerts, self._p99_ms())

    def answered(self, answer: Answer) -> None:
        """Take a subscriber's acknowledgement."""
        round_trip_ms = (answer.shown_ns - answer.delivered_ns) / 1e6
        self._presentation.add(answer.outcome.camera, answer.ack.client, round_trip_ms, answer.ack.hold_ms)

    def previewed(self, shown: Shown) -> None:
        """Take a watcher's acknowledgement of a preview."""
        self._watched.add(shown.camera, shown.client, shown.round_trip_ms, shown.hold_ms)

    def called(self, engine: Engine, pictures: int) -> None:
        """Take a call of an engine, on the inspect thread."""
        model = self._model_of.get(id(engine))
        if self._wants_gpu and model is not None:
            self._batches.add(model, pictures, max(engine.most, self._places[model]))

    def set_camera(self, camera: str, online: bool) -> None:
        """Take a camera's state."""
        if camera in self._config.cameras:
            self._online[camera] = online

    def parts(
        self, outbox: Outbox, ledger: Ledger, clock: UtcClock, status: StatusBoard, checkup: Checkup, lull: Lull
    ) -> list[AbstractContextManager[Any]]:
        """Return what the service enters after the outbox."""
        alarms = self._alarms = Alarms(
            self._config.latency.alerts,
            self._p99_ms(),
            recorder=self._recorder,
            gpu=self.gpu,
            batches=self._batches,
            tell=lambda camera, text, data: outbox.event(camera, "alert", text, **data),
        )
        jobs = [
            Job("sorting what was measured", 1.0, self._recorder.settle),
            Job("the state of the GPU", EVERY_S, self.gpu.read),
            Job("what holds the machine back", EVERY_S, self.throttle.look),
            Job("how full batches are", BATCHES_S, self._batches.turn),
            Job("the alerts", ALERTS_S, alarms.look),
            Job("the latencies", self._config.latency.period_s, self._publisher(outbox, clock)),
            Job("what the log dropped", LOG_S, DroppedLines(self._log_dropped, status).look),
            Job("the health of all", HEALTH_S, checkup.look),
        ]
        parts: list[AbstractContextManager[Any]] = [self.gpu, Rounds("latency", jobs, lambda: lull.wait(LULL_S))]
        if self._config.metrics is not None:
            parts.append(self._endpoint(outbox, ledger, alarms, checkup))
        return parts

    def _publisher(self, outbox: Outbox, clock: UtcClock) -> Callable[[], None]:
        """Return what publishes the latencies."""
        figures = Figures(
            self._config.line,
            self._budgets_ms,
            self._recorder,
            self._presentation,
            clock,
            self._watched,
            gpus=lambda: self.gpu.states,
            throttled=self.throttle.reasons,
        )

        def publish() -> None:
            for message in figures.messages():
                outbox.figures(message)

        return publish

    def _endpoint(
        self, outbox: Outbox, ledger: Ledger, alarms: Alarms, checkup: Checkup
    ) -> AbstractContextManager[Any]:
        from app.latency.endpoint import Endpoint
        from app.latency.export_line import Facts, registry

        assert self._config.metrics is not None

        def sinks() -> Mapping[str, Mapping[str, int]]:
            return {name: asdict(counts) for name, counts in outbox.counts().items()}

        facts = Facts(
            recorder=self._recorder,
            presentation=self._presentation,
            ledger=ledger,
            budgets_ms=self._deadlines_ms,
            online=self._online,
            sinks=sinks,
            oldest_s=outbox.oldest_age_s,
            gpu=self.gpu,
            throttle=self.throttle,
            batches=self._batches,
            alerts=lambda: alarms.alerts,
            log_dropped=self._log_dropped,
            previews=self._preview_counts,
            trials=self._trial_counts,
            build={
                "version": version("taktsight"),
                "line": self._config.line,
                "config": self._loaded.sha256[:12],
            },
        )
        return Endpoint(self._config.metrics, registry(facts), checkup.page)

    def _p99_ms(self) -> dict[str, float]:
        """Return the limit of each camera whose results can be late, or of all where one is given."""
        given = self._config.latency.alerts.p99_ms
        return {
            name: given or self._budgets_ms[name]
            for name, camera in self._config.cameras.items()
            if given is not None or has_deadline(camera)
        }

    def _preview_counts(self) -> Mapping[str, tuple[int, int]]:
        return self.previews()

    def _trial_counts(self) -> Mapping[tuple[str, str, str], int]:
        return self.trials()

    @property
    def _wants_gpu(self) -> bool:
        return any(model.device != "cpu" for model in self._config.models.values())
