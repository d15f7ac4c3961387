"""A session on the GPU: opened where it was asked for, verified, bound, with a CUDA graph where that can be trusted."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import onnxruntime as ort

from app.errors import ModelError
from app.inference.ort_device import DeviceBinding
from app.inference.ort_engines import engine_folder, is_empty
from app.inference.ort_graph import replay_fault
from app.inference.ort_libraries import missing_libraries, preload, preload_tensorrt, tensorrt_version
from app.inference.ort_providers import CPU, PROVIDERS, RECORD_NODES, TENSORRT, placement_of, providers_for
from app.inference.ort_session import ORT_ERRORS, explain, open_session
from app.inference.ort_versions import mismatch
from app.model import ModelInfo, TensorSpec

logger = logging.getLogger(__name__)

MEMORY = "cuda"
"""The device that inputs and outputs lie on, as ONNX Runtime calls it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to open.

    Attributes:
        device: "cuda" or "tensorrt".
        inputs: with every axis resolved.
        threads: for nodes that stay on the CPU.
        open_axes: sizes for named axes.
        engines: the folder of TensorRT's engines of all models.
    """

    info: ModelInfo
    device: str
    inputs: tuple[TensorSpec, ...]
    threads: int
    open_axes: Mapping[str, int]
    engines: Path


@dataclass(frozen=True, slots=True)
class Opened:
    """A session that is ready to run.

    Attributes:
        provider: that runs it.
        warnings: what is not as it could be, one line each.
        graph: it has a CUDA graph, which ONNX Runtime keeps for the thread that captured it.
    """

    binding: DeviceBinding
    provider: str
    warnings: tuple[str, ...]
    graph: bool = False

    def take_over(self, inputs: tuple[TensorSpec, ...]) -> None:
        """Have the graph captured on this thread, too, and found right.

        Raises:
            ModelError: it is not.
        """
        if not self.graph:
            return
        try:
            fault = replay_fault(self.binding.run_eagerly, self.binding.run, inputs)
        except ORT_ERRORS as error:
            fault = explain(error)
        if fault is not None:
            raise ModelError(f"its CUDA graph can't be had on the thread that looks: {fault}")


def open_gpu(wanted: Wanted) -> Opened:
    """Open a network on the GPU, with a CUDA graph where that can be had and trusted.

    Raises:
        ModelError: it can't be had there; the text says what is missing, and names neither file nor remedy.
    """
    asked = PROVIDERS[wanted.device][0]
    if asked not in ort.get_available_providers():
        raise ModelError(f"this onnxruntime has only {', '.join(ort.get_available_providers())}")
    preload()
    if asked == TENSORRT:
        preload_tensorrt()
    folder = engine_folder(wanted.engines, wanted.info.sha256, wanted.inputs) if asked == TENSORRT else None
    if folder is not None and is_empty(folder):
        logger.info("%s: TensorRT builds its engine, which takes minutes, once", wanted.info.path)
    captured = _captured(wanted, folder)
    if isinstance(captured, Opened):
        return captured
    try:
        session = _open(wanted, folder, graph=False)
    except ModelError as error:
        # TensorRT's provider asks to install TensorRT whatever it is that can't be loaded.
        raise ModelError(_what_is_missing(wanted.device) or str(error)) from error
    warnings = (*_verified(session, wanted), f"no CUDA graph, so each frame takes a little longer: {captured}")
    return Opened(DeviceBinding(session, wanted.inputs, wanted.info.outputs, device=MEMORY), asked, warnings)


def _captured(wanted: Wanted, folder: Path | None) -> Opened | str:
    """Return the session with its graph captured and checked, or why there is none; nothing of it is kept then."""
    try:
        session = _open(wanted, folder, graph=True)
    except ModelError as error:
        return str(error)
    warnings = _verified(session, wanted)
    try:
        binding = DeviceBinding(session, wanted.inputs, wanted.info.outputs, device=MEMORY)
        if not binding.is_fixed:
            return "the size of an output is known after a run only"
        fault = replay_fault(binding.run_eagerly, binding.run, wanted.inputs)
    except ORT_ERRORS as error:
        return explain(error)
    return fault or Opened(binding, PROVIDERS[wanted.device][0], warnings, graph=True)


def _open(wanted: Wanted, folder: Path | None, *, graph: bool) -> ort.InferenceSession:
    left_open = [spec for spec, own in zip(wanted.inputs, wanted.info.inputs, strict=True) if None in own.shape]
    return open_session(
        wanted.info.path,
        providers=providers_for(wanted.device, graph=graph, engines=folder, open_inputs=left_open),
        threads=wanted.threads,
        open_axes=wanted.open_axes,
        entries={RECORD_NODES: "1"},
    )


def _verified(session: ort.InferenceSession, wanted: Wanted) -> tuple[str, ...]:
    """See that a session runs where it was asked to, and return what of it does not.

    Raises:
        ModelError: it doesn't: ONNX Runtime goes on without what it can't have, and says so in its log only.
    """
    asked = PROVIDERS[wanted.device][0]
    if session.get_providers()[0] != asked:
        raise ModelError(_what_is_missing(wanted.device) or "its libraries or the device are missing")
    placement = placement_of(session)
    if placement is None:
        return ()
    if not placement.counts.get(asked):
        raise ModelError(f"{asked} takes none of this network's nodes")
    return (str(placement),) if placement.counts.get(CPU) else ()


def _what_is_missing(device: str) -> str:
    """Return what keeps a provider from starting; empty where nothing is found."""
    missing = missing_libraries(device)
    if device == "tensorrt" and (found := tensorrt_version()) and (other := mismatch(ort.__version__, found)):
        return other
    return f"{', '.join(missing)} can't be loaded" if missing else ""
