"""What a command does, and on which thread."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from app.config import LoadedConfig, load, sections
from app.errors import TaktsightError
from app.inspector import Inspector
from app.pipeline import Pipeline
from app.publish import command
from app.publish.clock import UtcClock
from app.publish.outbox import Outbox
from app.service import Service
from app.trigger import Trigger
from app.wiring.exchange import with_model
from app.wiring.reload import Reload
from app.wiring.snapshots import Snapshots

Done: TypeAlias = Callable[[bool, str], None]
"""Takes whether a command was done, and one line about it."""


class Executor:
    """Does commands; all of them on the thread that runs the service, one after the other.

    Args:
        pipelines: by camera, as they are now.
        triggers: of the cameras that wait for one.
        snapshots: None where no evidence is kept.
        is_online: whether a camera gives pictures now.
    """

    def __init__(
        self,
        service: Service,
        inspector: Inspector,
        reload: Reload,
        pipelines: Mapping[str, Pipeline],
        triggers: Mapping[str, Trigger],
        snapshots: Snapshots | None,
        is_online: Callable[[str], bool],
    ) -> None:
        self._service = service
        self._inspector = inspector
        self._reload = reload
        self._pipelines = pipelines
        self._triggers = triggers
        self._snapshots = snapshots
        self._is_online = is_online

    def __call__(self, wanted: command.Any, done: Done) -> None:
        """Have a command done; never waits."""
        if isinstance(wanted, command.Trigger):  # a part passes: it must not wait behind a reload
            self._answer(lambda: self._trigger(wanted), done)
        else:
            self._service.ask(lambda: self._answer(lambda: self._do(wanted), done))

    def _answer(self, do: Callable[[], str], done: Done) -> None:
        try:
            text = do()
        except TaktsightError as error:
            done(False, str(error))
        else:
            done(True, text)

    def _do(self, wanted: command.Any) -> str:
        match wanted:
            case command.Pause(camera=camera):
                return self._pause(camera, paused=True)
            case command.Resume(camera=camera):
                return self._pause(camera, paused=False)
            case command.Snapshot(camera=camera):
                return self._snapshot(camera)
            case command.SetModel(camera=camera, file=file):
                return self._set_model(camera, file)
            case command.SetThreshold():
                return self._set_threshold(wanted)
            case _:
                return f"reloaded: {self._reload(load(self._reload.in_force.path))}"

    def _trigger(self, wanted: command.Trigger) -> str:
        trigger = self._triggers.get(self._known(wanted.camera))
        if trigger is None:
            raise TaktsightError(
                f"camera {wanted.camera} waits for no trigger; set cameras.{wanted.camera}.trigger: command"
            )
        if not self._is_online(wanted.camera):
            raise TaktsightError(f"camera {wanted.camera} gives no pictures now, so there is none to judge")
        trigger.fire(wanted.id)
        return "the next picture is judged"

    def _pause(self, camera: str, *, paused: bool) -> str:
        name = self._known(camera)

        def change() -> None:
            self._pipelines[name].is_paused = paused

        self._inspector.between_frames(change)
        return f"{camera} is {'paused: its pictures are UNKNOWN' if paused else 'inspected again'}"

    def _snapshot(self, camera: str) -> str:
        if self._snapshots is None:
            raise TaktsightError("there is no evidence folder; set evidence.path")
        self._snapshots.ask(self._known(camera))
        return f"the next picture of {camera} is kept among the evidence"

    def _set_model(self, camera: str, file: str) -> str:
        loaded = self._reload.in_force
        present = Path(loaded.config.models[loaded.config.cameras[self._known(camera)].model].path)
        path = present.parent / file
        if path.name != file or not path.is_file():
            raise TaktsightError(f"{file}: no such file in the folder of the camera's model, where it has to be")
        found = self._reload(with_model(loaded, camera, path))
        return f"{camera} looks with {file}, until the configuration is read again; {found}"

    def _set_threshold(self, wanted: command.SetThreshold) -> str:
        camera = self._known(wanted.camera)
        self._reload(with_threshold(self._reload.in_force, camera, wanted.name, wanted.score))
        return (
            f"{wanted.name} counts from a score of {wanted.score:g} on {camera}, until the configuration is read again"
        )

    def _known(self, camera: str) -> str:
        if camera not in self._pipelines:
            raise TaktsightError(f"there is no camera {camera!r}; there are {', '.join(self._pipelines)}")
        return camera


def with_threshold(loaded: LoadedConfig, camera: str, name: str, score: float) -> LoadedConfig:
    """Return a configuration with another threshold, and another hash: results say by what they were judged."""
    section = loaded.config.cameras[camera]
    judge = section.judge.model_copy(update={"scores": {**section.judge.scores, name: score}})
    cameras = {**loaded.config.cameras, camera: section.model_copy(update={"judge": judge})}
    sha256 = hashlib.sha256(f"{loaded.sha256} {camera} {name} {score!r}".encode()).hexdigest()
    return replace(loaded, config=loaded.config.model_copy(update={"cameras": cameras}), sha256=sha256)


def build_commands(
    section: sections.Mqtt, line: str, execute: Executor, outbox: Outbox, clock: UtcClock
) -> AbstractContextManager[Any]:
    """Wire what takes commands; each is an event as well, so that whoever listens sees what was asked and by whom."""
    from app.publish.commands import Commands

    def audit(name: str, by: str, done: bool, text: str) -> None:
        outbox.event("", "command", f"{name}: {text}", by=by, done=done)

    return Commands(section, line, execute, audit=audit, clock=clock)
