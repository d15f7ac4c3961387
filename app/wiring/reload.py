"""Changes a running service to another configuration: between two frames what can be, and the rest is refused."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from threading import Event

from app.check import check
from app.config import LoadedConfig
from app.config.changes import Changes, changes
from app.errors import ConfigError, TaktsightError
from app.health.board import Board
from app.inspector import Inspector
from app.ledger import Ledger
from app.publish.base import StatusBoard
from app.service import Service
from app.shadow import Shadow
from app.wiring.camera import Shared, WiredCamera, build_camera, build_pipeline, lane_of, names_of
from app.wiring.exchange import Exchange, Probation
from app.wiring.models import WiredModel
from app.wiring.shadow import candidates_of
from app.wiring.telemetry import Telemetry

logger = logging.getLogger(__name__)

DRAIN_S = 5.0
"""How long the frames of a camera that is closed may take to be judged."""


@dataclass(frozen=True, slots=True)
class Keepers:
    """Who keeps something for each camera."""

    ledger: Ledger
    board: Board
    status: StatusBoard
    telemetry: Telemetry
    add_preview: Callable[[str], None]
    hashes: dict[str, str]
    shadow: Shadow

    def add(self, camera: str) -> None:
        """Have a camera known everywhere."""
        self.ledger.add(camera)
        self.board.add_camera(camera)
        self.status.add_camera(camera)
        self.add_preview(camera)

    def engines(self, models: Mapping[str, WiredModel]) -> None:
        """Have it known which engines run."""
        self.hashes.update((name, model.sha256) for name, model in models.items())
        self.telemetry.set_engines({name: (model.engine, model.places) for name, model in models.items()})
        self.status.set_models([model.engine.label() for model in models.values()])

    def remove(self, camera: str) -> None:
        """Have it forgotten where what is said of it would be wrong; the ledger keeps its counts."""
        self.board.remove_camera(camera)
        self.status.remove_camera(camera)


class Reload:
    """Takes a configuration while the service runs; called on the thread that runs it.

    Everything that can fail is done before anything is changed, so a configuration that is refused leaves the old one
    in force, whole. The frames of cameras that are not named in the change see nothing of it.

    Args:
        cameras: as wired; owned from here on.
        exchange: loads models and lets them go.
        probation: watches those that came.
    """

    def __init__(
        self,
        shared: Shared,
        cameras: dict[str, WiredCamera],
        service: Service,
        inspector: Inspector,
        keepers: Keepers,
        exchange: Exchange,
        probation: Probation,
    ) -> None:
        self._shared = shared
        self._cameras = cameras
        self._service = service
        self._inspector = inspector
        self._keepers = keepers
        self._exchange = exchange
        self._probation = probation
        self._is_back = False
        exchange.begin(shared.loaded)

    @property
    def in_force(self) -> LoadedConfig:
        """The configuration that the service goes by."""
        return self._shared.loaded

    def __call__(self, loaded: LoadedConfig) -> Changes:
        """Go by another configuration from the next frame on.

        Raises:
            ConfigError: it can't be run, or not without a restart; nothing has changed.
            TaktsightError: the inspection hangs.
        """
        before = self._shared.loaded
        found = changes(before.config, loaded.config)
        self._refuse(loaded, found)
        models = dict(self._shared.models)
        try:
            self._exchange.adopt(self._exchange.load(found.models, loaded), loaded)
            self._shared.in_force.loaded = loaded
            fresh = {name: self._camera(name) for name in (*found.added, *found.reopened)}
            judged = {name: self._pipeline(name, before) for name in found.rejudged}
        except TaktsightError:
            self._shared.in_force.loaded = before
            self._exchange.restore(models, before)
            raise
        self._keepers.telemetry.configure(loaded)
        self._inspector.between_frames(partial(self._take_over, judged.values()))
        for name in found.added:
            self._keepers.add(name)
            self._inspector.between_frames(self._opener(name, fresh[name]))
            self._service.open(name, fresh[name].channel)
        for name in found.reopened:
            self._close(name, self._opener(name, fresh[name]))
            self._service.open(name, fresh[name].channel)
        for name in found.removed:
            self._close(name, partial(self._inspector.close, name))
            self._keepers.remove(name)
        self._cameras = {name: camera for name, camera in (self._cameras | fresh).items() if name not in found.removed}
        self._see_models(found, before)
        logger.info("reloaded %s: %s", loaded.path, found)
        self._shared.outbox.event("", "reload", f"reloaded: {found}", config=self._shared.in_force.hash)
        return found

    def _see_models(self, found: Changes, before: LoadedConfig) -> None:
        """Let go of the models that are not used any more; first those that came have to prove themselves."""
        config = self._shared.loaded.config
        used = {model for camera in config.cameras.values() for model in camera.models}
        self._keepers.engines({name: model for name, model in self._shared.models.items() if name in used})
        looks_anew = [name for name in found.rejudged if set(config.cameras[name].models) & set(found.models)]
        if not looks_anew or self._is_back:
            self._exchange.release(used)
            return
        self._probation.watch(looks_anew, partial(self._proved, before, used))

    def _proved(self, before: LoadedConfig, used: set[str], worse: str | None) -> None:
        """Keep the new models, or take the old ones back."""
        if worse is None:
            self._exchange.release(used)
            self._shared.outbox.event("", "model", "the new model is kept: nothing got worse with it")
            return
        text = f"the new model is taken back: {worse}"
        logger.error("%s", text)
        self._shared.outbox.event("", "model", text)
        self._is_back = True
        try:
            self(before)
        finally:
            self._is_back = False

    def _take_over(self, rejudged: Iterable[Callable[[], None]]) -> None:
        """Put new rules in place; every result from here on says by which file it was judged."""
        for apply in rejudged:
            apply()
        self._keepers.shadow.configure(candidates_of(self._shared.loaded, self._shared.models))
        for pipeline in self._shared.pipelines.values():
            pipeline.config_hash = self._shared.in_force.hash

    def _refuse(self, loaded: LoadedConfig, found: Changes) -> None:
        """Raise what keeps a configuration from being taken."""
        restart = "while the line runs; restart the service"
        faults = [f"{loaded.place(key)}: can't be changed {restart}" for key in found.refused]
        faults += [f"{finding.where}: {finding.text}" for finding in check(loaded) if finding.level == "error"]
        if faults:
            raise ConfigError(*faults)

    def _camera(self, name: str) -> WiredCamera:
        return build_camera(name, self._shared.loaded.config.cameras[name], self._shared)

    def _pipeline(self, name: str, before: LoadedConfig) -> Callable[[], None]:
        """Return what puts a camera's new rules in place; called between two frames."""
        section, old = self._shared.loaded.config.cameras[name], self._shared.pipelines[name]
        camera = self._cameras[name]
        pipeline, engines = build_pipeline(
            name, section, self._shared, (before.config.cameras[name], old, camera.names)
        )
        lane = lane_of(camera, section)

        def apply() -> None:
            if pipeline.gate is not old.gate:
                old.finish()  # by the rules under which it chose
            self._inspector.open(name, pipeline, lane)

        names = names_of(section, self._shared)
        self._cameras[name] = WiredCamera(camera.channel, lane, pipeline, engines, names)
        return apply

    def _opener(self, name: str, camera: WiredCamera) -> Callable[[], None]:
        return lambda: self._inspector.open(name, camera.pipeline, camera.lane)

    def _close(self, name: str, then: Callable[[], None]) -> None:
        """Stop a camera; once what it gave is judged, do the next thing on the inspect thread, and wait for that."""
        judged = Event()

        def ended() -> None:
            then()
            judged.set()

        self._inspector.between_frames(lambda: self._inspector.after(name, ended))
        self._service.close(name)
        if not judged.wait(DRAIN_S):
            raise TaktsightError(f"the last frames of {name} were not judged within {DRAIN_S:g} s; restart the service")
