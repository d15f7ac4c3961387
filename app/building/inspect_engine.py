"""`engine inspect` of a built engine: its manifest, and what TensorRT itself says of it where it is there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from app.building.inspect_findings import Finding
from app.errors import ModelError
from app.inference.engine_file import Manifest, read_manifest
from app.inference.machine import Gpu, find_gpu
from app.inference.plan import find_plan, ultralytics_header
from app.inference.tensorrt_module import find_tensorrt


@dataclass(frozen=True, slots=True)
class EngineTensor:
    """One input or output of an engine, as TensorRT tells it.

    Attributes:
        shape: its axes; -1 where it is open.
        profiles: least, best and most shape of each optimisation profile; empty for outputs.
    """

    name: str
    mode: str
    dtype: str
    shape: tuple[int, ...]
    profiles: tuple[tuple[tuple[int, ...], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of an engine.

    Attributes:
        kind: e.g. "CaskConvolution"; "" where the engine was built without details.
        precision: of its first output, e.g. "Half"; "" where that is not told.
    """

    name: str
    kind: str = ""
    precision: str = ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What TensorRT says of an engine.

    Attributes:
        memory_bytes: for activations, of one execution context; None where that is not told.
    """

    runtime: str
    tensors: tuple[EngineTensor, ...]
    layers: tuple[Layer, ...]
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class EngineInspection:
    """What is known of an engine file.

    Attributes:
        header: what Ultralytics wrote before the plan; None where it did not.
        loaded: None where TensorRT could not be asked; a finding says why.
    """

    path: Path
    size_bytes: int
    header: dict[str, object] | None
    manifest: Manifest | None
    loaded: Loaded | None
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "path": str(self.path),
            "size_bytes": self.size_bytes,
            "header": self.header,
            "manifest": None if self.manifest is None else msgspec.to_builtins(self.manifest),
            "loaded": None if self.loaded is None else asdict(self.loaded),
            "findings": [asdict(finding) for finding in self.findings],
        }


def inspect_engine(
    path: Path,
    *,
    gpu: Callable[[], Gpu | None] = find_gpu,
    tensorrt: Callable[[str | None], ModuleType] = find_tensorrt,
) -> EngineInspection:
    """Look into an engine file.

    Args:
        path: of the file.
        gpu: finds the device; without one TensorRT is not touched, because it would end the process.
        tensorrt: finds the module that is named, or any.

    Raises:
        ModelError: the file can't be read or is no engine.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: can't be read: {error.strerror or error}") from error
    try:
        plan = find_plan(data)
    except ModelError as error:
        raise ModelError(f"{path} ({len(data):,} bytes): {error}") from error
    found: list[Finding] = []
    manifest, loaded = None, None
    try:
        manifest = read_manifest(path)
    except ModelError as error:
        found.append(Finding("warning", "manifest", str(error)))
    if manifest is not None and manifest.verified is None:
        found.append(Finding("warning", "unverified", "never run beside its model: run `taktsight engine verify`"))
    try:
        loaded = _load(plan, manifest, gpu, tensorrt)
    except ModelError as error:
        found.append(Finding("hint", "not_loaded", f"TensorRT was not asked: {error}"))
    found += [] if loaded is None else _findings(loaded)
    return EngineInspection(path, len(data), ultralytics_header(data), manifest, loaded, tuple(found))


def _load(
    plan: memoryview,
    manifest: Manifest | None,
    gpu: Callable[[], Gpu | None],
    tensorrt: Callable[[str | None], ModuleType],
) -> Loaded:
    if gpu() is None:
        raise ModelError("the driver finds no GPU")
    trt = tensorrt(None if manifest is None else manifest.built_on.runtime)
    runtime = trt.Runtime(trt.Logger(trt.Logger.ERROR))
    engine = runtime.deserialize_cuda_engine(bytes(plan))
    if engine is None:
        raise ModelError(f"{trt.__name__} {trt.__version__} can't load it: it was built for another version or device")
    memory = getattr(engine, "device_memory_size_v2", None) or getattr(engine, "device_memory_size", None)
    names = [engine.get_tensor_name(number) for number in range(engine.num_io_tensors)]
    return Loaded(
        f"{trt.__name__} {trt.__version__}",
        tuple(_tensor(trt, engine, name) for name in names),
        tuple(_layers(trt, engine)),
        None if memory is None else int(memory),
    )


def _tensor(trt: ModuleType, engine: Any, name: str) -> EngineTensor:  # noqa: ANN401 - TensorRT has no types
    is_input = engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT
    profiles = (
        tuple(
            tuple(tuple(shape) for shape in engine.get_tensor_profile_shape(name, number))
            for number in range(engine.num_optimization_profiles)
        )
        if is_input
        else ()
    )
    dtype = str(engine.get_tensor_dtype(name)).rpartition(".")[2].lower()
    mode = "input" if is_input else "output"
    return EngineTensor(name, mode, dtype, tuple(engine.get_tensor_shape(name)), profiles)


def _layers(trt: ModuleType, engine: Any) -> Iterator[Layer]:  # noqa: ANN401 - TensorRT has no types
    inspector = engine.create_engine_inspector()
    tree = json.loads(inspector.get_engine_information(trt.LayerInformationFormat.JSON))
    for layer in tree.get("Layers", []):
        if isinstance(layer, str):  # built without details: names only
            yield Layer(layer)
            continue
        outputs = layer.get("Outputs") or [{}]
        precision = str(outputs[0].get("Format/Datatype", "")).split(" ")[0]
        yield Layer(str(layer.get("Name", "")), str(layer.get("LayerType", "")), precision)


def _findings(loaded: Loaded) -> list[Finding]:
    found = []
    nms = [layer for layer in loaded.layers if "nms" in f"{layer.name} {layer.kind}".lower()]
    if nms:
        found.append(Finding("warning", "nms_in_graph", f"NMS in the engine ({nms[0].name}): its thresholds are fixed"))
    if any(-1 in tensor.shape for tensor in loaded.tensors if tensor.mode == "output") and not any(
        -1 in tensor.shape for tensor in loaded.tensors if tensor.mode == "input"
    ):
        found.append(
            Finding(
                "warning",
                "not_capturable",
                "an output has a size that only the picture tells: no CUDA graph can be captured",
            )
        )
    casts = [layer for layer in loaded.layers if "reformat" in f"{layer.name} {layer.kind}".lower()]
    if casts:
        found.append(
            Finding("hint", "reformats", f"{len(casts)} reformats between layers of different precision or layout")
        )
    return found
