"""`MODEL.onnx.sha256` beside a model, as `sha256sum` writes it: what the model and its weights must hash to."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from app.errors import ModelError

MOST_BYTES = 65_536
_BLOCK_BYTES = 1 << 20
_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")


def list_of(model: Path) -> Path:
    """Return where a model's list lies, whether there is one or not."""
    return model.with_name(model.name + ".sha256")


def listed(model: Path) -> dict[str, str] | None:
    """Return the SHA-256 of each file that the model's list names; None where there is no list.

    Raises:
        ModelError: the list can't be read, is none, or does not name the model.
    """
    path = list_of(model)
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ModelError(f"{path}: can't be read: {error.strerror or error}") from error
    remedy = f"write it with `sha256sum {model.name} > {path.name}` in that folder, or remove it"
    found = {}
    for line in content.decode("utf-8", "replace").splitlines():
        match = _LINE.fullmatch(line)
        if match is None or len(content) > MOST_BYTES:
            raise ModelError(f"{path}: it is no list of SHA-256 sums: {remedy}")
        found[match[2].removeprefix("./")] = match[1].lower()
    if model.name not in found:
        raise ModelError(f"{path}: it does not name {model.name}: {remedy}")
    return found


def check_listed(model: Path, digest: str, weights: Iterable[Path]) -> bool:
    """Compare a model and its weights with its list; return whether there is one.

    Args:
        model: the model's file.
        digest: its SHA-256, known already.
        weights: its other files, all of them.

    Raises:
        ModelError: a file has another hash, or is not on the list.
    """
    sums = listed(model)
    if sums is None:
        return False
    _compare(model, model.name, digest, sums)
    for path in weights:
        name = path.relative_to(model.parent).as_posix()
        if name not in sums:
            raise ModelError(f"{list_of(model)}: it does not name {name}, which has weights: add its line")
        _compare(model, name, sha256_of(path), sums)
    return True


def _compare(model: Path, name: str, digest: str, sums: dict[str, str]) -> None:
    if sums[name] != digest:
        wanted = f"expected SHA-256 {sums[name]}, as {list_of(model).name} says"
        raise ModelError(f"{model.with_name(name)} (SHA-256 {digest}): {wanted}: put that file there, or list it anew")


def sha256_of(path: Path) -> str:
    """Return a file's SHA-256, a block at a time.

    Raises:
        ModelError: it can't be read.
    """
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                found.update(block)
    except OSError as error:
        raise ModelError(f"{path}: can't be read: {error.strerror or error}") from error
    return found.hexdigest()
