"""ONNX Runtime with a GPU that is not there: real sessions on the CPU that say they run on a GPU and replay graphs."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import onnxruntime as ort
import pytest

from app.errors import ModelError
from app.inference import ort_gpu
from app.inference.ort_session import open_session

ALL = ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]


class GpuRuntime:
    """What the next sessions do, and what was asked of those that were opened.

    Attributes:
        graph: "replays" (computes anew), "stale" (gives the first result for ever), "breaks" (capture fails),
            "refused" (no session with a graph can be opened).
        registered: providers that a session ends up with; None: those that were asked for.
        nodes: operators by provider, as a session tells them; None for an ONNX Runtime that can't tell.
        opened: the providers with their options of each session, in order.
        runs: "eager", "capture" or "replay", in order.
    """

    def __init__(self):
        self.graph = "replays"
        self.registered = None
        self.nodes = {"asked": ["Conv", "Relu"]}
        self.opened = []
        self.runs = []

    def open(self, path, **options):
        providers = options["providers"]
        self.opened.append([one if isinstance(one, tuple) else (one, {}) for one in providers])
        _, given = self.opened[-1][0]
        graph = "1" in (given.get("enable_cuda_graph"), given.get("trt_cuda_graph_enable"))
        if graph and self.graph == "refused":
            raise ModelError("this session cannot use the graph capture feature")
        session = open_session(path, **{**options, "providers": ["CPUExecutionProvider"]})
        return Session(session, self, self.registered or [name for name, _ in self.opened[-1]], graph)


class Session:
    """A real session, but for where it says that it runs and what a graph does."""

    def __init__(self, real, runtime, providers, graph):
        self.real, self.runtime, self.providers, self.graph = real, runtime, providers, graph
        self.graphs = {}  # the results at their capture, by thread: each thread has a graph of its own

    def get_providers(self):
        return self.providers

    def get_outputs(self):
        return self.real.get_outputs()

    def io_binding(self):
        return self.real.io_binding()

    def get_provider_graph_assignment_info(self):
        def part(name, operators):
            nodes = [SimpleNamespace(op_type=operator) for operator in operators]
            return SimpleNamespace(ep_name=self.providers[0] if name == "asked" else name, get_nodes=lambda: nodes)

        return [part(*one) for one in (self.runtime.nodes or {}).items()]

    def run_with_iobinding(self, binding, options=None):
        eager = not self.graph or (options is not None and options.get_run_config_entry("gpu_graph_id") == "-1")
        self.runtime.runs.append("eager" if eager else "replay" if threading.get_ident() in self.graphs else "capture")
        if self.runtime.runs[-1] == "capture" and self.runtime.graph == "breaks":
            raise RuntimeError("CUDA failure 900: operation not permitted when stream is capturing")
        if self.runtime.runs[-1] == "replay" and self.runtime.graph == "stale":
            first = self.graphs[threading.get_ident()]
            for value, array in zip(binding.get_outputs(), first, strict=True):
                value.update_inplace(array)
            return
        self.real.run_with_iobinding(binding)
        if not eager:
            found = [value.numpy().copy() for value in binding.get_outputs()]
            self.graphs.setdefault(threading.get_ident(), found)


def put_gpu(monkeypatch: pytest.MonkeyPatch) -> GpuRuntime:
    """Give this process such a GPU."""
    runtime = GpuRuntime()
    monkeypatch.setattr(ort, "get_available_providers", lambda: ALL)
    monkeypatch.setattr(ort_gpu, "open_session", runtime.open)
    monkeypatch.setattr(ort_gpu, "MEMORY", "cpu")
    return runtime
