"""The networks: files, hashes, inputs, outputs, class names and where they are asked to run."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from app.check.finding import Report
from app.config.sections import Config, Model
from app.decode.family import detect_family
from app.decode.groups import read_groups
from app.errors import ConfigError, ModelError
from app.inference.chosen_engine import engine_path, runs_engine
from app.inference.engine_file import read_engine
from app.inference.machine import find_gpu
from app.model import ModelInfo, check_names
from app.preprocess.input_spec import input_spec

Names: TypeAlias = "tuple[str, ...]"

_PROVIDERS = {"cuda": "CUDAExecutionProvider", "tensorrt": "TensorrtExecutionProvider"}
_NO_ENGINE = (
    "ONNX Runtime is not installed, so no model can be read; pip install 'taktsight[cpu]' (or [gpu], never both)"
)


def check_models(config: Config, report: Report) -> dict[str, Names]:
    """Check every model and return the class names of those that can be read."""
    names = {}
    for name, section in config.models.items():
        if all(name not in camera.models for camera in config.cameras.values()):
            report.warning("no camera uses this model; remove it, or name it in a camera's model", "models", name)
        info = _read(name, section, report)
        if info is not None:
            _check_device(name, section, report)
            _check_triton(name, section, report)
            found = _check_head(name, section, info, report)
            names.update({} if found is None else {name: found})
    return names


def _read(name: str, section: Model, report: Report) -> ModelInfo | None:
    try:
        from app.inference.model_file import read_model  # noqa: PLC0415 - a leaf: the command itself runs without it
    except ModuleNotFoundError:
        report.error(_NO_ENGINE, "models", name)
        return None
    try:
        info = read_model(Path(section.path), sha256=section.sha256, names=section.names)
    except ModelError as error:
        report.error(str(error), "models", name, "path")
        return None
    for text in info.warnings:
        report.warning(text, "models", name, "path")
    return info


def _check_device(name: str, section: Model, report: Report) -> None:
    if runs_engine(section):
        _check_engine(name, section, report)
        return
    provider = _PROVIDERS.get(section.device)
    if provider is None:
        return
    from onnxruntime import get_available_providers  # noqa: PLC0415 - as above

    if provider not in get_available_providers():
        then = "it will run on the CPU" if section.allow_cpu_fallback else "it will not start"
        remedy = "install onnxruntime-gpu (never beside onnxruntime), or write device: cpu"
        report.warning(f"this ONNX Runtime has no {provider}: {then}; {remedy}", "models", name, "device")


def _check_triton(name: str, section: Model, report: Report) -> None:
    """Check what a Triton server needs here; whether it is there and has the model shows when the line starts."""
    if section.triton is None:
        return
    if runs_engine(section):
        text = "triton and a built engine exclude one another: remove triton, or set device to cpu or cuda"
        report.error(text, "models", name, "triton")
    if find_spec("tritonclient") is None:
        report.error(
            "there is no client for it: pip install 'taktsight[triton]', or remove triton", "models", name, "triton"
        )


def _check_engine(name: str, section: Model, report: Report) -> None:
    """Check the engine's files, and whether anything here could run it; whether it fits shows when it starts."""
    try:
        read_engine(engine_path(section))
    except ModelError as error:
        report.error(str(error), "models", name, "engine")
    if find_gpu() is None:
        then = "it will run on the CPU" if section.allow_cpu_fallback else "it will not start"
        report.warning(f"there is no NVIDIA GPU with a driver here: {then}", "models", name, "device")


def _check_head(name: str, section: Model, info: ModelInfo, report: Report) -> Names | None:
    """Return the class names, one for each class that the network can give."""
    try:
        family, classes = detect_family(info, section.decode)
    except ModelError as error:
        report.error(str(error), "models", name, "decode")
        return info.names
    names, warnings = check_names(info.names, classes)
    for text in warnings:
        report.warning(text, "models", name, "names")
    try:
        input_spec(info, section.input, family)
    except ModelError as error:
        report.error(str(error), "models", name, "input")
    try:
        read_groups(section.nms, names)
    except ConfigError as error:
        report.refuse(error, "models", name)
    return names
