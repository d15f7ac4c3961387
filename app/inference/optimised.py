"""The folder of optimised models: rewriting a graph takes longer than loading the result again."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import tempfile
from pathlib import Path

MAX_FILES = 8

_DIGEST = 16  # hex digits of a file's own hash that stand in its name


class OptimisedModels:
    """Optimised models under one key; a folder that can't be written means no cache, never a failure.

    A file is called `<key>.<hash of its content>.onnx`, so one that was cut off or changed is not used. It appears
    whole or not at all, and the oldest go when there are more than `MAX_FILES`.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self._folder = folder
        self._key = key

    def find(self) -> Path | None:
        """Return the file, or None; a damaged one is removed."""
        for file in sorted(self._folder.glob(f"{self._key}.*.onnx")):
            if self._is_whole(file):
                return file
            self.discard(file)
        return None

    def draft(self) -> Path | None:
        """Return a fresh file to write to, or None where that can't be."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(".draft", f"{self._key}.", self._folder)
        except OSError:
            return None
        os.close(handle)
        return Path(name)

    def keep(self, draft: Path) -> None:
        """Put a written draft in its place."""
        try:
            file = draft.with_name(f"{self._key}.{_digest(draft)}.onnx")
            _sync(draft)
            draft.replace(file)
            self._prune()
        except OSError:
            self.discard(draft)

    def discard(self, file: Path) -> None:
        """Remove a file; one that can't be removed stays."""
        with contextlib.suppress(OSError):
            file.unlink()

    def _is_whole(self, file: Path) -> bool:
        try:
            return file.name == f"{self._key}.{_digest(file)}.onnx"
        except OSError:
            return False

    def _prune(self) -> None:
        files = sorted(self._folder.glob("*.onnx"), key=lambda file: file.stat().st_mtime_ns)
        for file in files[:-MAX_FILES]:
            self.discard(file)


def machine_key() -> str:
    """Return what an optimised graph may depend on besides the model: this machine's processor, 12 hex digits.

    ONNX Runtime writes layouts and operators of this very processor into the file.
    """
    seen = [platform.machine()]
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        kinds = ("model name", "flags", "Features", "CPU part")
        seen += sorted({line for line in lines if line.startswith(kinds)})
    return hashlib.sha256("\n".join(seen).encode()).hexdigest()[:12]


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:_DIGEST]


def _sync(file: Path) -> None:
    """Have the content on the disk before the name, or a loss of power leaves a name without content."""
    with file.open("rb") as handle:
        os.fsync(handle.fileno())
