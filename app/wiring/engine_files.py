"""The engine of a model, if it fits: never loaded where its manifest says otherwise, built again where that is set."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from app.config import sections
from app.errors import ModelError
from app.inference.chosen_engine import engine_path
from app.inference.engine_file import EngineFile, Machine, Manifest, check, read_engine

logger = logging.getLogger(__name__)

Build = Callable[[Sequence[str]], None]
"""Runs `taktsight` with arguments; raises `ModelError` where that fails."""

_LAST_LINES = 3


def fitting_engine(
    name: str, section: sections.Model, onnx_sha256: str, machine: Machine, build: Build | None = None
) -> EngineFile:
    """Return a model's engine, read and found to fit; build it again first where the section says so.

    Args:
        name: of the model, for messages.
        section: of the model.
        onnx_sha256: of the model's file.
        machine: this one.
        build: runs the command; None for a process of the product's own.

    Raises:
        ModelError: there is no engine, it can't be used, or it can't be built again; one line with every reason.
    """
    path = engine_path(section)
    engine = read_engine(path)
    faults = _faults(engine, section, onnx_sha256, machine)
    if not faults:
        return engine
    said = f"models.{name}: {path} can't be used here: {'; '.join(faults)}"
    if section.engine.unfit != "rebuild":
        raise ModelError(f"{said}. Build it again on this machine, or set engine.unfit: rebuild")
    logger.warning("%s: building it again, which takes minutes", said)
    (build or _run)(rebuild_arguments(engine.manifest, section, path, machine.runtime))
    engine = read_engine(path)
    if faults := _faults(engine, section, onnx_sha256, machine):
        raise ModelError(f"models.{name}: {path} was built again and still can't be used: {'; '.join(faults)}")
    return engine


def rebuild_arguments(manifest: Manifest, section: sections.Model, path: Path, runtime: str) -> list[str]:
    """Return the arguments of `taktsight` that build an engine as it was built before, for this machine.

    The workspace is not among them: it is what this machine has free.

    Args:
        manifest: of the engine as it is.
        section: of the model.
        path: of the engine.
        runtime: that will run it.
    """
    arguments = ["engine", "build", section.path, "--out", str(path), "--runtime", runtime, *_switch(manifest)]
    for option in ("batch", "input", "level"):
        if option in manifest.options:
            arguments += [f"--{option}", manifest.options[option]]
    if section.verify.pictures is not None:
        arguments += ["--pictures", section.verify.pictures]
    return arguments


def _switch(manifest: Manifest) -> list[str]:
    return [] if manifest.precision == "fp32" else [f"--{manifest.precision}"]


def _faults(engine: EngineFile, section: sections.Model, onnx_sha256: str, machine: Machine) -> tuple[str, ...]:
    allowed = section.engine.allow_unverified
    return check(engine.manifest, machine, onnx_sha256=onnx_sha256, allow_unverified=allowed)


def _run(arguments: Sequence[str]) -> None:
    """Run the command in a process of its own.

    Raises:
        ModelError: it failed; with its last words.
    """
    command = [sys.executable, "-m", "app", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    if done.returncode != 0:
        words = " ".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
        raise ModelError(f"it can't be built again: {words or f'exit code {done.returncode}'}")
