"""Ways to run an .onnx file for `engine bench`: ONNX Runtime on the CPU, or on a GPU with and without a CUDA graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from app.building.batch_advice import Room
from app.building.engine_bench import Subject
from app.config.sections import Model
from app.errors import ModelError
from app.inference.base import Tensors
from app.inference.machine import find_gpu
from app.inference.model_file import check_bytes, read_bytes, read_model
from app.inference.onnxruntime import OnnxBackend
from app.inference.ort_gpu import Opened, Wanted, open_gpu
from app.inference.shapes import PICTURE_AXES, known_shape
from app.inference.threads import allowed_cpus
from app.model import ModelInfo, TensorSpec

MEMINFO = Path("/proc/meminfo")


def batches_of(info: ModelInfo, asked: Sequence[int]) -> tuple[tuple[int, ...], str]:
    """Return the batches that a file allows, any where it leaves the first axis open, and a note where it does not."""
    fixed = info.inputs[0].shape[0]
    if fixed is None:
        return tuple(sorted(set(asked))), ""
    note = f"the file fixes its batch to {fixed}: export it with an open batch (Ultralytics: dynamic=True) to compare"
    return (fixed,), note if tuple(asked) != (fixed,) else ""


def with_batch(info: ModelInfo, batch: int) -> ModelInfo:
    """Return the same file, its open batch filled."""
    inputs = tuple(
        TensorSpec(spec.name, (batch if spec.shape[0] is None else spec.shape[0], *spec.shape[1:]), spec.dtype)
        for spec in info.inputs
    )
    return replace(info, inputs=inputs)


@contextmanager
def onnx_subjects(
    info: ModelInfo, section: Model, batch: int, input_wh: tuple[int, int] | None
) -> Iterator[list[Subject]]:
    """Load a model for one batch and give the ways to run it; freed at the end.

    Raises:
        ModelError: it can't be run there.
    """
    backend = OnnxBackend(with_batch(info, batch), section, input_wh=input_wh)
    feeds = random_feeds(backend.inputs)
    if section.device == "cpu":
        with backend:
            yield [Subject("ONNX Runtime, CPU", batch, lambda: backend.infer(feeds))]
        return
    opened = open_gpu(_wanted(backend.inputs, with_batch(info, batch), section))
    yield list(device_ways(opened, feeds, batch))


def device_ways(opened: Opened, feeds: Tensors, batch: int) -> Iterator[Subject]:
    """Yield the ways to run a session on a device: by its graph, where it has one, and node by node."""
    where = f"ONNX Runtime, {opened.provider.removesuffix('ExecutionProvider')}"
    if not any("no CUDA graph" in text for text in opened.warnings):
        yield Subject(f"{where}, CUDA graph", batch, lambda: opened.binding.run(feeds))
    yield Subject(f"{where}, eager", batch, lambda: opened.binding.run_eagerly(feeds))


def _wanted(inputs: Sequence[TensorSpec], info: ModelInfo, section: Model) -> Wanted:
    names = check_bytes(read_bytes(info.path)).open_axes
    axes = {
        name: axis
        for spec in inputs
        for name, axis in zip(names.get(spec.name, ()), known_shape(spec), strict=False)
        if name
    }
    threads = section.threads or allowed_cpus()
    return Wanted(info, section.device, tuple(inputs), threads, axes, info.path.parent / ".cache" / "tensorrt")


def random_feeds(inputs: Sequence[TensorSpec]) -> dict[str, np.ndarray]:
    """Return pictures of noise: zeros may run faster than any picture."""
    rng = np.random.default_rng(0)
    feeds = {}
    for spec in inputs:
        most = 255 if spec.dtype == "uint8" else 1
        feeds[spec.name] = (rng.random(known_shape(spec), np.float32) * most).astype(spec.dtype)
    return feeds


def room_for(info: ModelInfo, device: str, input_wh: tuple[int, int] | None) -> Room | None:
    """Return what memory allows by the graph's own figures; None where they can't be told.

    Activations are those alive at once with nothing fused: a little more than an engine really takes.
    """
    from app.building.inspect_model import inspect_model  # noqa: PLC0415 - needs onnx, which may be missing

    try:
        memory = inspect_model(info.path, input_wh).memory
    except ModelError:
        return None
    free = free_bytes(device)
    return None if free is None else Room(free, memory.weights, max(memory.activations, 1))


def free_bytes(device: str, meminfo: Path = MEMINFO) -> int | None:
    """Return the free memory of the device, or of the machine for the CPU; None where that can't be told."""
    if device != "cpu":
        gpu = find_gpu()
        return None if gpu is None else gpu.free_bytes
    try:
        lines = dict(line.split(":", 1) for line in meminfo.read_text(encoding="ascii").splitlines() if ":" in line)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def read_for_bench(path: Path) -> ModelInfo:
    """Read a model that takes one tensor of pictures.

    Raises:
        ModelError: it does not.
    """
    info = read_model(path)
    if len(info.inputs[0].shape) != PICTURE_AXES:
        raise ModelError(f"{path}: input {info.inputs[0].name!r} is no batch of pictures (four axes)")
    return info
