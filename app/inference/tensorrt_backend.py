"""The engine that runs a TensorRT plan with tensors in the host's memory: copied in, run, copied out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import ModuleType, TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from app.errors import ModelError
from app.gpu.context import Context
from app.gpu.memory import DeviceMemory, PinnedMemory, to_device, to_host
from app.gpu.stream import Stream
from app.inference.base import Tensors
from app.inference.feeds import check_feeds
from app.inference.machine import require_gpu
from app.inference.shapes import known_shape
from app.inference.tensorrt import Execution, TensorRtEngine
from app.inference.tensorrt_module import runtime_of
from app.model import TensorSpec

_WARM_UP_RUNS = 2  # the first allocates, the second runs as all later ones do


class TensorRtBackend:
    """Runs one plan; everything in it happens on the thread that enters it.

    Attributes:
        inputs, outputs, provider: see `Backend`. `provider` is the library, e.g. "tensorrt 10.3.0".
    """

    def __init__(
        self,
        plan: bytes | memoryview,
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
        find: Callable[[], ModuleType],
        *,
        where: str = "engine",
    ) -> None:
        """Keep it; loads nothing.

        Args:
            plan: without Ultralytics' header.
            inputs: without open axes; the engine must take these shapes.
            outputs: as far as they are known.
            find: returns TensorRT; called only once there is a driver.
            where: the file, for messages.
        """
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.provider = ""
        self._plan = plan
        self._find = find
        self._where = where
        self._stack: ExitStack | None = None
        self._run: _Run | None = None

    def __enter__(self) -> Self:
        """Load, bind, warm up.

        Raises:
            ModelError: there is no GPU, no TensorRT, or the engine can't be used here with these shapes.
        """
        if self._run is not None:
            return self
        trt = find_for_gpu(self._find, self._where)
        with ExitStack() as stack:
            context = stack.enter_context(Context())
            engine = TensorRtEngine(trt, context, self._plan, self._where)
            stack.callback(engine.close)
            shapes = {spec.name: known_shape(spec) for spec in self.inputs}
            check_inputs(self.inputs, engine.fit(shapes)[0], self._where)
            run = _Run(context, engine, shapes, stack)
            for _ in range(_WARM_UP_RUNS):
                run.infer({spec.name: np.zeros(known_shape(spec), spec.dtype) for spec in self.inputs})
            self._stack = stack.pop_all()
        self._run, self.outputs = run, run.outputs
        self.provider = f"{runtime_of(trt)} {trt.__version__}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Free everything; safe to call twice."""
        stack, self._stack, self._run = self._stack, None, None
        if stack is not None:
            stack.close()

    def infer(self, feeds: Tensors) -> Tensors:
        """Run the network once; see `Backend.infer`.

        Raises:
            ModelError: the feeds don't fit `inputs`, or the GPU failed.
        """
        if self._run is None:
            raise ModelError(f"{self._where}: not loaded: enter the backend before it is asked to infer")
        check_feeds(self.inputs, feeds)
        return self._run.infer(feeds)


def find_for_gpu(find: Callable[[], ModuleType], where: str) -> ModuleType:
    """Return TensorRT, once it is known that there is a GPU: without a driver TensorRT ends the process.

    Raises:
        ModelError: there is no GPU, or no TensorRT that can be used.
    """
    require_gpu(where)
    return find()


def check_inputs(asked: Sequence[TensorSpec], found: Sequence[TensorSpec], where: str) -> None:
    """Refuse an engine with other inputs than those that are going to be fed.

    Raises:
        ModelError: it has them.
    """
    if {spec.name: spec for spec in asked} != {spec.name: spec for spec in found}:
        raise ModelError(f"{where}: its inputs are {list(found)}, expected {list(asked)}: build the engine again")


class _Run:
    """The memory of one execution, on both sides."""

    def __init__(
        self, context: Context, engine: TensorRtEngine, shapes: Mapping[str, tuple[int, ...]], stack: ExitStack
    ) -> None:
        def kept(owned: Any) -> Any:  # noqa: ANN401 - whatever is given
            stack.callback(owned.close)
            return owned

        self._stream: Stream = kept(Stream(context))
        self._execution: Execution = kept(engine.execution(self._stream, shapes))
        self.inputs, self.outputs = self._execution.inputs, self._execution.outputs
        tensors = (*self.inputs, *self.outputs)
        self._device: Mapping[str, DeviceMemory] = {
            spec.name: kept(DeviceMemory(context, nbytes(spec))) for spec in tensors
        }
        self._pinned: Mapping[str, PinnedMemory] = {
            spec.name: kept(PinnedMemory(context, nbytes(spec))) for spec in tensors
        }
        # Not the pinned memory itself: whoever kept a borrowed array would hold memory that is gone after the end.
        self._lent: dict[str, NDArray[Any]] = {
            spec.name: np.empty(known_shape(spec), spec.dtype) for spec in self.outputs
        }
        self._execution.bind({name: memory.address for name, memory in self._device.items()})

    def infer(self, feeds: Tensors) -> Tensors:
        for spec in self.inputs:
            pinned = self._pinned[spec.name].bytes
            np.copyto(pinned, feeds[spec.name].reshape(-1).view(np.uint8))
            to_device(pinned, self._device[spec.name].address, self._stream)
        self._execution.enqueue(self._stream)
        for spec in self.outputs:
            to_host(self._pinned[spec.name].bytes, self._device[spec.name].address, self._stream)
        self._stream.synchronize()
        for name, lent in self._lent.items():
            np.copyto(lent.reshape(-1).view(np.uint8), self._pinned[name].bytes)
        return self._lent


def nbytes(spec: TensorSpec) -> int:
    """Return how much memory a tensor of a known shape takes."""
    return int(np.prod(known_shape(spec))) * np.dtype(spec.dtype).itemsize
