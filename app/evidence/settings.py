"""The configuration by which a picture was judged, as it was then, without its secrets."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.config import LoadedConfig
from app.config.secrets import mask, secrets_in

_KEPT = 8
"""Configurations of which it is known how they were; pictures wait for seconds, and nobody reloads that often."""


class ModelSetting(msgspec.Struct, frozen=True, kw_only=True):
    """One network: its section of the configuration, and the SHA-256 of its file, 64 hex digits."""

    sha256: str
    section: dict[str, Any]


class CameraSetting(msgspec.Struct, frozen=True, kw_only=True):
    """What one camera's pictures are judged by.

    Attributes:
        config: SHA-256 of the configuration's file.
        file: its name.
        camera: the camera's section, secrets masked; of its source the kind alone, which is all that judging needs.
        models: by the keys of `models`.
    """

    config: str
    file: str
    camera: dict[str, Any]
    models: dict[str, ModelSetting]


class Settings:
    """Remembers the configurations that were in force a moment ago; asked from the writer's thread.

    Args:
        in_force: returns the one that is in force now.
        hashes: SHA-256 of every model's file, by the keys of `models`; may change.
    """

    def __init__(self, in_force: Callable[[], LoadedConfig], hashes: Mapping[str, str]) -> None:
        self._in_force = in_force
        self._hashes = hashes
        self._last: LoadedConfig | None = None
        self._known: OrderedDict[str, LoadedConfig] = OrderedDict()
        self._made: dict[tuple[str, str], CameraSetting | None] = {}

    def look(self) -> None:
        """Remember what is in force; cheap, called with every outcome."""
        loaded = self._in_force()
        if loaded is self._last:
            return
        self._last = loaded
        known = OrderedDict(self._known)
        known[loaded.sha256[:12]] = loaded
        if len(known) > _KEPT:
            known.popitem(last=False)
        self._known = known  # replaced and not changed: the writer reads it without a lock

    def of(self, config_hash: str, camera: str) -> CameraSetting | None:
        """Return what a camera's pictures were judged by; None where that configuration is forgotten."""
        key = (config_hash, camera)
        if key not in self._made:
            if len(self._made) > _KEPT * 64:
                self._made.clear()
            loaded = self._known.get(config_hash)
            if loaded is None:
                return None
            self._made[key] = setting_of(loaded, camera, self._hashes)
        return self._made[key]


def setting_of(loaded: LoadedConfig, camera: str, hashes: Mapping[str, str]) -> CameraSetting | None:
    """Return what one camera's pictures are judged by; None for a camera that is not there."""
    section = loaded.config.cameras.get(camera)
    if section is None:
        return None
    secrets = secrets_in(loaded.config)
    dumps = {name: loaded.config.models[name].model_dump(mode="json", by_alias=True) for name in section.models}
    for dump in dumps.values():
        dump["path"] = str(Path(dump["path"]).absolute())
    return CameraSetting(
        config=loaded.sha256,
        file=mask(str(loaded.path), secrets),
        camera=_masked(
            section.model_dump(mode="json", by_alias=True) | {"source": {"kind": section.source.kind}}, secrets
        ),
        models={
            name: ModelSetting(sha256=hashes.get(name, ""), section=_masked(dump, secrets))
            for name, dump in dumps.items()
        },
    )


def _masked(value: Any, secrets: frozenset[str]) -> Any:  # noqa: ANN401 - a tree is anything
    """Return a tree with every secret masked in every text of it, wherever somebody has written one."""
    if isinstance(value, str):
        return mask(value, secrets)
    if isinstance(value, dict):
        return {key: _masked(child, secrets) for key, child in value.items()}
    if isinstance(value, list):
        return [_masked(child, secrets) for child in value]
    return value
