"""What is compared with a model: an engine, or another .onnx file, wired with the model's own settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.config import sections
from app.config.engine import BuiltEngine
from app.errors import ConfigError, ModelError
from app.inference.model_file import read_model
from app.wiring.models import WiredModel, build_model

DEVICES = ("cpu", "cuda", "tensorrt")
"""Where ONNX Runtime can run a model, as the configuration names it."""


def is_engine(path: Path) -> bool:
    """Say whether a file is to be run by TensorRT."""
    return path.suffix != ".onnx"


def checked_device(device: str) -> str:
    """Return the name of a device.

    Raises:
        ConfigError: there is no such one.
    """
    if device not in DEVICES:
        raise ConfigError(f"--device {device}: one of {', '.join(DEVICES)}")
    return device


def onnx_candidate(path: Path, model: sections.Model, names: Sequence[str], device: str, batch: int) -> WiredModel:
    """Wire an .onnx file that is to stand in for a model.

    Args:
        path: of the file.
        model: the model's own section.
        names: the model's classes, for files that a conversion took them from.
        device: where it runs.
        batch: pictures at once; more than one where the file leaves its batch open.

    Raises:
        ModelError: it can't be used.
    """
    update: dict[str, object] = {"path": str(path), "sha256": None, "device": checked_device(device), "triton": None}
    info = read_model(path, names=model.names)
    if info.names is None:
        update["names"] = list(names)
    fixed = info.inputs[0].shape[0]
    if fixed is None:
        update["batches"] = [batch]
    elif batch not in (1, fixed):
        raise ModelError(f"{path}: its batch is fixed to {fixed}: leave --batch out")
    return build_model(path.name, model.model_copy(update=update))


def engine_candidate(path: Path, model: sections.Model) -> WiredModel:
    """Wire an engine that was built from a model, as a line would run it: everything from picture to boxes on the GPU.

    Args:
        path: of the engine; its manifest lies beside it.
        model: the section of the model that it was built from.

    Raises:
        ModelError: a file can't be used; what does not fit this machine is refused when it is entered.
    """
    built = BuiltEngine(path=str(path), allow_unverified=True)
    update = {"device": "tensorrt", "allow_cpu_fallback": False, "engine": built, "triton": None}
    return build_model(path.name, model.model_copy(update=update))
