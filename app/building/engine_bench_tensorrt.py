"""Ways to run a TensorRT engine for `engine bench`: eagerly and as one CUDA graph, taken apart as `trtexec` does."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from time import monotonic_ns
from types import ModuleType
from typing import Protocol, TypeVar

import numpy as np

from app.building.engine_bench import Split, Subject
from app.building.engine_bench_onnx import random_feeds
from app.errors import GpuError
from app.gpu.context import Context
from app.gpu.event import Event
from app.gpu.graph import Graph
from app.gpu.memory import DeviceMemory, PinnedMemory, to_device, to_host
from app.gpu.stream import Stream
from app.inference.tensorrt import Execution, TensorRtEngine
from app.inference.tensorrt_backend import find_for_gpu, nbytes

log = logging.getLogger(__name__)

_WARM_UP = 2


class _Closes(Protocol):
    def close(self) -> None: ...


_Owned = TypeVar("_Owned", bound=_Closes)


@contextmanager
def tensorrt_subjects(
    plan: bytes | memoryview, shapes: Mapping[str, tuple[int, ...]], find: Callable[[], ModuleType], where: str
) -> Iterator[list[Subject]]:
    """Load an engine for one shape and give the ways to run it; everything is freed at the end.

    Args:
        plan: without Ultralytics' header.
        shapes: of the inputs, by name.
        find: returns TensorRT; called only once there is a driver.
        where: the file, for messages.

    Raises:
        ModelError: there is no GPU, or the engine can't be used here with these shapes.
    """
    trt = find_for_gpu(find, where)
    with ExitStack() as stack:
        context = stack.enter_context(Context())
        engine = _kept(TensorRtEngine(trt, context, plan, where), stack)
        bench = _Bench(context, engine, _kept(Stream(context), stack), shapes, stack)
        # One execution for each way: a graph's addresses must not be bound anew.
        eager, graphed = _Lane(bench), _Lane(bench)
        subjects = [Subject("TensorRT, eager", eager.batch, eager.run, eager.split)]
        if graphed.capture():
            subjects.append(Subject("TensorRT, CUDA graph", graphed.batch, graphed.run, graphed.split))
        yield subjects


@dataclass(frozen=True, slots=True)
class _Bench:
    """What the ways have in common."""

    context: Context
    engine: TensorRtEngine
    stream: Stream
    shapes: Mapping[str, tuple[int, ...]]
    stack: ExitStack


class _Lane:
    """One execution with its memory, run eagerly until it is captured."""

    def __init__(self, bench: _Bench) -> None:
        context, stack = bench.context, bench.stack
        self._bench, self._stream = bench, bench.stream
        self._execution: Execution = _kept(bench.engine.execution(bench.stream, bench.shapes), stack)
        self._inputs, self._outputs = self._execution.inputs, self._execution.outputs
        tensors = (*self._inputs, *self._outputs)
        self._device = {spec.name: _kept(DeviceMemory(context, nbytes(spec)), stack) for spec in tensors}
        self._host = {spec.name: _kept(PinnedMemory(context, nbytes(spec)), stack) for spec in tensors}
        self._marks = [_kept(Event(context), stack) for _ in range(2)]
        self._graph: Graph | None = None
        self._execution.bind({name: memory.address for name, memory in self._device.items()})
        for name, feed in random_feeds(self._inputs).items():
            np.copyto(self._host[name].bytes, feed.reshape(-1).view(np.uint8))
        for _ in range(_WARM_UP):
            self.run()

    @property
    def batch(self) -> int:
        """Pictures in one run."""
        return self._inputs[0].shape[0] or 1

    def capture(self) -> bool:
        """Record a whole run, to be started with one call from then on; False where that can't be."""
        least = len(self._inputs) + len(self._outputs) + 1
        try:
            self._graph = _kept(Graph(self._bench.context, self._stream, self._put, least), self._bench.stack)
        except GpuError as error:
            log.warning("no CUDA graph: %s", error)
            return False
        self.run()
        return True

    def run(self) -> None:
        """Copy in, run, copy out, wait."""
        if self._graph is None:
            self._put()
        else:
            self._graph.launch(self._stream)
        self._stream.synchronize()

    def split(self) -> Split:
        """Run once, with the host's and the GPU's part of it timed apart.

        Eagerly that is the engine alone, as `trtexec` reports it; of a graph it is everything in it.
        """
        if self._graph is None:
            self._copy_in()
        self._marks[0].record(self._stream)
        began_ns = monotonic_ns()
        if self._graph is None:
            self._execution.enqueue(self._stream)
        else:
            self._graph.launch(self._stream)
        enqueue_ms = (monotonic_ns() - began_ns) / 1e6
        self._marks[1].record(self._stream)
        self._stream.synchronize()
        return Split(enqueue_ms, self._marks[1].ms_since(self._marks[0]))

    def _put(self) -> None:
        self._copy_in()
        self._execution.enqueue(self._stream)
        for spec in self._outputs:
            to_host(self._host[spec.name].bytes, self._device[spec.name].address, self._stream)

    def _copy_in(self) -> None:
        for spec in self._inputs:
            to_device(self._host[spec.name].bytes, self._device[spec.name].address, self._stream)


def _kept(owned: _Owned, stack: ExitStack) -> _Owned:
    stack.callback(owned.close)
    return owned
