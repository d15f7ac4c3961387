"""A configuration file in, a validated and frozen configuration out, or every fault of it at once."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from app.config.document import MOST_BYTES, Document, read_document
from app.config.fault import Fault, KeyPath, dotted
from app.config.references import dangling
from app.config.scalars import resolve
from app.config.secrets import is_credential, mask, mask_url, secrets_in
from app.config.sections import Config
from app.config.violations import NOT_TEXT, violations
from app.errors import ConfigError

_LAST_STEP = re.compile(r"\[\d+\]$|(^|\.)[^.]*$")


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A configuration and the file that it came from.

    Attributes:
        config: validated; the paths of models, sources, secrets and certificates in it are seen from the file's
            folder, so that they work from any working folder. Those of `jsonl` and `evidence` are as written.
        path: the file as it was named.
        sha256: of the file's bytes, 64 hex digits.
        lines: the line of every dotted key in the file.
    """

    config: Config
    path: Path
    sha256: str
    lines: Mapping[str, int]

    def where(self, *path: str | int) -> str:
        """Return `file:line: dotted.key` for a key, with the line of the nearest one above where it is not there."""
        return self.place(dotted(path))

    def place(self, key: str) -> str:
        """Return the same for a key that is dotted already."""
        above = key
        while above and above not in self.lines:
            above = _LAST_STEP.sub("", above)
        return f"{self.path}:{self.lines.get(above, 1)}: {mask_url(key)}"


def load(path: str | Path, environment: Mapping[str, str] | None = None) -> LoadedConfig:
    """Read, substitute and validate a configuration file.

    Args:
        path: of the file.
        environment: replaces `os.environ` for `${NAME}`.

    Raises:
        ConfigError: with one line for each fault, in the order of the file; no line holds a secret.
    """
    path = Path(path)
    content = _content(path)
    document = read_document(content, os.environ if environment is None else environment)
    secrets = secrets_in(document.tree)
    config = None
    faults = document.faults
    if document.tree or not faults:
        _resolve_paths(document.tree, path.parent)
        config, found = _validated(document)
        faults = [*faults, *found]
    if config is None or faults:
        raise ConfigError(*_sentences(faults, str(path), secrets))
    lines = {dotted(place): spot.line for place, spot in document.spots.items()}
    return LoadedConfig(config, path, hashlib.sha256(content).hexdigest(), MappingProxyType(lines))


def _content(path: Path) -> bytes:
    """Return the file's bytes, at most one more than may be."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file; name a configuration, e.g. configs/demo.yaml") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: it is a folder; name one file in it") from None
    except PermissionError:
        raise ConfigError(f"{path}: this user may not read it; chown or chmod it") from None
    except OSError as error:
        raise ConfigError(f"{path}: it can't be read: {error.strerror}; name a readable file") from None


def _validated(document: Document) -> tuple[Config | None, list[Fault]]:
    try:
        return Config.model_validate(document.tree), []
    except ValidationError as error:
        if _retype(document, error):
            return _validated(document)
        faults = list(violations(Config, error, document))
    # Pydantic comes to the names between sections only when the rest is right; people want to hear all at once.
    told = {fault.path for fault in faults}
    names = [Fault(document.line(place), place, text) for place, text in dangling(document.tree) if place not in told]
    return None, [*(fault for fault in faults if fault.path or not names), *names]


def _retype(document: Document, error: ValidationError) -> bool:
    """Read what came from the environment as a number or a boolean where the field wants one; say if any changed."""
    changed = False
    for details in error.errors(include_url=False, include_input=False):
        if details["type"] not in NOT_TEXT:
            continue
        holder, step = _holder(document, details["loc"])
        if holder is None or not isinstance(holder[step], str):
            continue
        value = resolve(holder[step])
        if value is None or isinstance(value, bool | int | float):
            holder[step] = value
            changed = True
    return changed


def _holder(document: Document, place: KeyPath) -> tuple[Any, Any]:
    """Return the mapping or list, and the key in it, of a value that came from the environment; else None twice."""
    tree = document.tree
    path: KeyPath = ()
    found: tuple[Any, Any] = (None, None)
    for step in place:
        inside = step in tree if isinstance(tree, dict) else isinstance(tree, list) and isinstance(step, int)
        if inside:
            path = (*path, step)
            spot = document.spots.get(path)
            found = (tree, step) if spot and spot.variables else (None, None)
            tree = tree[step]
    return found


def _resolve_paths(tree: Any, folder: Path) -> None:  # noqa: ANN401 - a YAML tree is anything
    """Make the paths that are written relative to the file independent of the working folder, in place."""
    for section, key in _path_keys(tree):
        value = section.get(key)
        if not isinstance(value, str) or not value:
            continue
        if key != "password_file" or "/" in value or (not is_credential(value) and (folder / value).is_file()):
            section[key] = str(folder / value)


def _path_keys(tree: Any) -> Iterable[tuple[dict[str, Any], str]]:  # noqa: ANN401 - a YAML tree is anything
    def sections(*path: str) -> list[dict[str, Any]]:
        level = [tree]
        for step in path:
            mappings = [each for each in level if isinstance(each, dict)]
            level = [value for each in mappings for value in (each.values() if step == "*" else [each.get(step)])]
        return [each for each in level if isinstance(each, dict)]

    yield from ((section, "path") for section in sections("models", "*"))
    yield from ((section, "pictures") for section in sections("models", "*", "verify"))
    yield from ((section, "path") for section in sections("models", "*", "engine"))
    yield from ((section, key) for section in sections("cameras", "*", "source") for key in ("path", "password_file"))
    yield from ((section, "password_file") for section in sections("mqtt"))
    yield from ((section, key) for section in sections("mqtt", "tls") for key in ("ca_file", "cert_file", "key_file"))


def _sentences(faults: Iterable[Fault], file: str, secrets: Iterable[str]) -> list[str]:
    """Return the lines to show, in the order of the file, secrets masked."""
    lines = []
    for fault in sorted(faults, key=lambda fault: fault.line):
        masked = Fault(fault.line, fault.path, mask(fault.text, secrets))
        lines.append(_on_one_line(mask_url(masked.sentence(file))))  # a camera may be named after its URL
    return list(dict.fromkeys(lines))


def _on_one_line(text: str) -> str:
    """Show a line end, and what a terminal would obey, as an escape: names and keys may hold anything."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
