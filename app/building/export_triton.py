"""`taktsight engine export-triton`: writes a model's folder for a Triton server's model repository."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from app.building import triton_model
from app.errors import ConfigError, TaktsightError
from app.inference.model_file import read_bytes, read_model
from app.inference.onnx_graph import read_graph
from app.inference.shapes import resolve_inputs
from app.inference.triton_names import TYPES
from app.model import ModelInfo, TensorSpec

WAIT_SHARE = 0.1
"""Of the budget that a picture may wait in the server for others to share a call with."""

MOST_WAIT_MS = 5.0
"""It never waits longer: what more it gathers, a line of cameras does not pay back."""

VERSION = "1"
BACKENDS = ("onnxruntime", "python")
DEVICES = ("auto", "cpu", "gpu")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ROWS = 2  # axes of an output whose rows are detections of all pictures, not pictures


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to export.

    Attributes:
        folder: the model repository.
        name: of the model there; "": as the file is called.
        backend: of the server: "onnxruntime" or "python".
        max_batch: pictures in one call, where the file leaves its batch open.
        budget_ms: what the line gives a frame from exposure to acknowledgement.
        instances: how many calls run side by side, on each device.
        device: "auto", "cpu" or "gpu".
        input_wh: pixels, for models that leave their size open.
    """

    model: Path
    folder: Path
    name: str = ""
    backend: str = "onnxruntime"
    max_batch: int = 8
    budget_ms: float = 100.0
    instances: int = 1
    device: str = "auto"
    input_wh: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Attributes:
        name: of the model, for `models.*.triton.model`.
        max_batch: 0 where the model takes its pictures one by one.
    """

    folder: Path
    name: str
    max_batch: int
    queue_delay_us: int


def export_triton(wanted: Wanted) -> Exported:
    """Write the folder; what is there under the model's name is replaced.

    Raises:
        ModelError: the model can't be read, or leaves its size open.
        TaktsightError: the folder can't be written.
    """
    _check(wanted)
    info = read_model(wanted.model)
    inputs = resolve_inputs(info.inputs, wanted.input_wh, channels=3, nhwc=None)
    name = wanted.name or wanted.model.stem
    max_batch = wanted.max_batch if _takes_batches(info) else 0
    delay_us = queue_delay_us(wanted.budget_ms)
    text = config_of(wanted, name, inputs, info.outputs, max_batch)
    folder = wanted.folder / name
    try:
        shutil.rmtree(folder, ignore_errors=True)
        version = folder / VERSION
        version.mkdir(parents=True)
        (folder / "config.pbtxt").write_text(text, encoding="utf-8")
        shutil.copyfile(wanted.model, version / "model.onnx")
        for other in _elsewhere(wanted.model):
            (version / other).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(wanted.model.parent / other, version / other)
        if wanted.backend == "python":
            shutil.copyfile(str(triton_model.__file__), version / "model.py")
    except OSError as error:
        raise TaktsightError(f"{folder}: can't be written: {error.strerror}; choose another DIR") from error
    return Exported(folder, name, max_batch, delay_us if max_batch else 0)


def show_exported(exported: Exported, console: Console) -> None:
    """Say what was written and what comes next."""
    batching = (
        f"up to {exported.max_batch} pictures in one call, gathered for {exported.queue_delay_us / 1000:g} ms at most"
        if exported.max_batch
        else "one call at a time, no batches: the file fixes its batch; export it with an open batch axis for them"
    )
    lines = (
        f"{exported.folder}: {batching}",
        f"serve it:  tritonserver --model-repository={exported.folder.parent}",
        f"use it:    models.*.triton: {{url: HOST:8001, model: {exported.name}}}",
    )
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _check(wanted: Wanted) -> None:
    """Refuse words that the server would not know."""
    if wanted.backend not in BACKENDS:
        raise ConfigError(f"--backend {wanted.backend}: must be {' or '.join(BACKENDS)}")
    if wanted.device not in DEVICES:
        raise ConfigError(f"--device {wanted.device}: must be one of {', '.join(DEVICES)}")
    name = wanted.name or wanted.model.stem
    if not NAME.fullmatch(name):
        raise ConfigError(f"--name {name}: becomes a folder: letters, digits, . _ and - only")
    folder = wanted.folder / name
    if folder.exists() and not (folder / "config.pbtxt").is_file():
        raise ConfigError(f"{folder}: is there and no model of a Triton server: choose another DIR or --name")


def queue_delay_us(budget_ms: float) -> int:
    """Return how long a picture may wait in the server for others, in microseconds."""
    return int(min(MOST_WAIT_MS, budget_ms * WAIT_SHARE) * 1000)


def config_of(
    wanted: Wanted, name: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], max_batch: int
) -> str:
    """Return the text of `config.pbtxt`.

    Args:
        wanted: what was asked for.
        name: of the model.
        inputs: with every axis known.
        outputs: of the file; open axes stay open.
        max_batch: 0 where the server must not gather pictures.
    """
    skip = 1 if max_batch else 0  # the batch is not among a tensor's own axes then
    parts = [
        f'name: "{name}"',
        f'backend: "{wanted.backend}"',
        f"max_batch_size: {max_batch}",
        *(f"input [ {_tensor(spec, skip)} ]" for spec in inputs),
        *(f"output [ {_tensor(spec, skip)} ]" for spec in outputs),
        f"instance_group [ {{ count: {wanted.instances} kind: KIND_{wanted.device.upper()} }} ]",
    ]
    if max_batch:
        parts.append(_batching(wanted.budget_ms))
    parts += [_warm_up(inputs, batch, skip) for batch in sorted({1, max_batch or 1})]
    return "\n".join(parts) + "\n"


def _batching(budget_ms: float) -> str:
    """Gather for a moment; throw out what waited longer than its frame has; priority 1 goes first."""
    return f"""\
dynamic_batching {{
  max_queue_delay_microseconds: {queue_delay_us(budget_ms)}
  priority_levels: 2
  default_priority_level: 2
  default_queue_policy {{
    timeout_action: REJECT
    default_timeout_microseconds: {int(budget_ms * 1000)}
    allow_timeout_override: true
  }}
}}"""


def _warm_up(inputs: Sequence[TensorSpec], batch: int, skip: int) -> str:
    tensors = "\n".join(
        f'  inputs {{ key: "{spec.name}" value: {{ data_type: TYPE_{TYPES[spec.dtype]} '
        f"dims: [{_dims(spec, skip)}] zero_data: true }} }}"
        for spec in inputs
    )
    size = batch if skip else 0
    return f'model_warmup [ {{\n  name: "batch of {batch}"\n  batch_size: {size}\n  count: 2\n{tensors}\n}} ]'


def _tensor(spec: TensorSpec, skip: int) -> str:
    return f'{{ name: "{spec.name}" data_type: TYPE_{TYPES[spec.dtype]} dims: [{_dims(spec, skip)}] }}'


def _dims(spec: TensorSpec, skip: int) -> str:
    return ", ".join("-1" if axis is None else str(axis) for axis in spec.shape[skip:])


def _takes_batches(info: ModelInfo) -> bool:
    """Tell whether every tensor has an open first axis that counts pictures."""
    tensors = (*info.inputs, *info.outputs)
    return all(spec.shape and spec.shape[0] is None for spec in tensors) and all(
        len(spec.shape) > _ROWS for spec in info.outputs
    )


def _elsewhere(model: Path) -> tuple[str, ...]:
    """Return the files that hold some of the weights, beside the model."""
    graph = read_graph(read_bytes(model))
    return () if graph is None else graph.elsewhere
