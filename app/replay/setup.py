"""What judges a piece of evidence: the stored configuration and model, or those that are to be tried."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from app.config import LoadedConfig, sections
from app.errors import ConfigError, ModelError
from app.evidence.settings import CameraSetting
from app.replay.rules import Rules
from app.replay.stored import Stored
from app.wiring.models import WiredModel, build_model

_LINE = "replay"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be tried.

    Attributes:
        config: another configuration; None: the stored one.
        model: a file in place of the camera's model; None: the stored one.
        device: in place of the one that is configured; None: as it says.
    """

    config: LoadedConfig | None = None
    model: Path | None = None
    device: str | None = None

    @property
    def is_other(self) -> bool:
        """Whether something else judges than what judged then."""
        return self.config is not None or self.model is not None


class Judges:
    """Wires what judges each piece, once for all that were judged alike; enters the engines.

    Args:
        wanted: what is to be tried.
        stack: holds the engines.
    """

    def __init__(self, wanted: Wanted, stack: ExitStack) -> None:
        self._wanted = wanted
        self._stack = stack
        self._models: dict[str, WiredModel] = {}
        self._rules: dict[str, Rules] = {}

    def of(self, stored: Stored) -> Rules:
        """Return the rules for one piece.

        Raises:
            ConfigError: its configuration is not known, or knows no such camera.
            ModelError: a model is not there, or another one than judged it then.
        """
        camera, models, hashes = self._asked(stored)
        key = json.dumps([camera.model_dump(by_alias=True), hashes, {n: m.model_dump() for n, m in models.items()}],
                         default=str)  # fmt: skip
        if key not in self._rules:
            wired = {name: self._model(name, models[name], hashes.get(name)) for name in camera.models}
            self._rules[key] = Rules(camera, wired)
        return self._rules[key]

    def _asked(self, stored: Stored) -> tuple[sections.Camera, Mapping[str, sections.Model], dict[str, str]]:
        """Return the camera, the models, and the SHA-256 that each file must have."""
        hashes: dict[str, str] = {}
        if self._wanted.config is not None:
            config, where = self._wanted.config.config, str(self._wanted.config.path)
        else:
            setting = stored.record.replay.setting
            if setting is None:
                raise ConfigError(f"{stored.path.name}: its configuration was not known any more; name one (--config)")
            config, where = stored_config(setting, stored), str(stored.path)
            hashes = {name: model.sha256 for name, model in setting.models.items()}
        camera = config.cameras.get(stored.camera)
        if camera is None:
            known = ", ".join(config.cameras)
            raise ConfigError(f"{where}: there is no camera {stored.camera!r} in it; there are: {known}")
        models = dict(config.models)
        if self._wanted.model is not None:
            models[camera.model] = _with_file(models[camera.model], self._wanted.model)
            hashes.pop(camera.model, None)
        return camera, models, hashes

    def _model(self, name: str, section: sections.Model, sha256: str | None) -> WiredModel:
        if self._wanted.device is not None:
            section = section.model_copy(update={"device": self._wanted.device, "triton": None})
        check_file(name, Path(section.path), sha256)
        key = f"{name} {section.model_dump_json()}"
        if key not in self._models:
            wired = build_model(name, section)
            self._stack.enter_context(wired.engine.backend)
            self._models[key] = wired
        return self._models[key]


def _with_file(section: sections.Model, path: Path) -> sections.Model:
    """Return a model's section for another file, whose engine, if it had one, is not used."""
    return section.model_copy(update={"path": str(path), "sha256": None, "engine": sections.BuiltEngine()})


def check_file(name: str, path: Path, sha256: str | None) -> None:
    """See that a model's file is the one that judged then.

    Raises:
        ModelError: it is not there, or another one.
    """
    wanted = "" if sha256 is None else f" (SHA-256 {sha256})"
    if not path.is_file():
        raise ModelError(f"models.{name}: {path}{wanted} is not there; name the file with --model")
    if not sha256:
        return
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise ModelError(
            f"models.{name}: {path} has the SHA-256 {found}, and this evidence was judged by {sha256}; name that file, "
            f"or see what this one changes: --model {path}"
        )


def stored_config(setting: CameraSetting, stored: Stored) -> sections.Config:
    """Return a configuration of the one camera, as it was; its source is not needed and stands for itself no more.

    Raises:
        ConfigError: this version of the product can't read it.
    """
    tree = {
        "line": _LINE,
        "cameras": {stored.camera: {**setting.camera, "source": {"kind": "synthetic"}}},
        "models": {name: model.section for name, model in setting.models.items()},
        "mqtt": None,
    }
    try:
        return sections.Config.model_validate_json(json.dumps(tree))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise ConfigError(
            f"{stored.path.name}: the configuration that it was judged by can't be read by this version "
            f"({place}: {first['msg']}); name one (--config)"
        ) from error
