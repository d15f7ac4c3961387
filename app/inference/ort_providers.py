"""ONNX Runtime's execution providers as this product asks for them, and which of them really runs the nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import onnxruntime as ort

from app.inference.shapes import known_shape
from app.model import TensorSpec

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"
TENSORRT = "TensorrtExecutionProvider"

PROVIDERS = {"cpu": (CPU,), "cuda": (CUDA, CPU), "tensorrt": (TENSORRT, CUDA, CPU)}
"""By the configured device, best first: what the best can't run goes to the next."""

RECORD_NODES = "session.record_ep_graph_assignment_info"
_NAMED = 4

Provider: TypeAlias = "str | tuple[str, Mapping[str, str]]"


def providers_for(
    device: str, *, graph: bool, engines: Path | None, open_inputs: Sequence[TensorSpec] = ()
) -> list[Provider]:
    """Return what a session is opened with.

    Args:
        device: as configured.
        graph: have the whole run captured as one CUDA graph, which needs fixed addresses.
        engines: the folder where TensorRT keeps what it has built; None: it builds anew at each start.
        open_inputs: inputs whose file leaves axes open, with every axis resolved: TensorRT builds for that size alone.
    """
    if device == "cpu":
        return [CPU]
    cuda = {"device_id": "0", "arena_extend_strategy": "kSameAsRequested"}
    if device == "cuda":
        return [(CUDA, {**cuda, "enable_cuda_graph": "1" if graph else "0"}), CPU]
    options = {"device_id": "0", "trt_cuda_graph_enable": "1" if graph else "0"}
    if engines is not None:
        options |= {"trt_engine_cache_enable": "1", "trt_engine_cache_path": str(engines)}
        options |= {"trt_timing_cache_enable": "1", "trt_timing_cache_path": str(engines)}
    if open_inputs:
        profile = ",".join(f"{spec.name}:{'x'.join(map(str, known_shape(spec)))}" for spec in open_inputs)
        options |= dict.fromkeys(
            ("trt_profile_min_shapes", "trt_profile_opt_shapes", "trt_profile_max_shapes"), profile
        )
    return [(TENSORRT, options), (CUDA, cuda), CPU]


@dataclass(frozen=True, slots=True)
class Placement:
    """Which provider runs how many nodes of a network.

    Attributes:
        counts: nodes by provider.
        on_cpu: the operators among them that run on the CPU, the most frequent first.
    """

    counts: Mapping[str, int]
    on_cpu: tuple[str, ...]

    def __str__(self) -> str:
        """Say how many nodes run on the CPU, and a few of their operators."""
        more = ", …" if len(self.on_cpu) > _NAMED else ""
        names = ", ".join(self.on_cpu[:_NAMED])
        return f"{self.counts.get(CPU, 0)} of {sum(self.counts.values())} nodes run on the CPU ({names}{more})"


def placement_of(session: ort.InferenceSession) -> Placement | None:
    """Return where a session's nodes run; None where it was opened without `RECORD_NODES`, or ONNX Runtime is older.

    `get_providers` names what is registered, which is not yet what runs a single node.
    """
    if not hasattr(session, "get_provider_graph_assignment_info"):  # since 1.24
        return None
    counts: Counter[str] = Counter()
    on_cpu: Counter[str] = Counter()
    for part in session.get_provider_graph_assignment_info():
        nodes = part.get_nodes()
        counts[part.ep_name] += len(nodes)
        on_cpu.update(node.op_type for node in nodes if part.ep_name == CPU)
    return Placement(dict(counts), tuple(name for name, _ in on_cpu.most_common())) if counts else None
