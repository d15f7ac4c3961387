"""A TensorRT engine on the GPU and what runs it: only the calls that TensorRT 10, 11 and TensorRT for RTX share."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import ModuleType
from typing import Any, TypeAlias

from app.errors import GpuError, ModelError
from app.gpu.context import Context, Owned
from app.gpu.stream import Stream
from app.inference.engine_file import Range
from app.inference.tensorrt_module import DTYPES, runtime_of
from app.model import TensorSpec

log = logging.getLogger(__name__)

Shape: TypeAlias = tuple[int, ...]

LINES = 8
"""Of TensorRT's log that are kept to explain what failed."""


class TensorRtEngine(Owned):
    """A deserialised engine; its context must be entered. Closed after what runs it, and before the context.

    Attributes:
        where: the file, for messages.
        said: returns what TensorRT last logged as errors, in one line.
    """

    def __init__(self, trt: ModuleType, context: Context, plan: bytes | memoryview, where: str) -> None:
        """Load it.

        Args:
            trt: from `find_tensorrt`. Never call this without a driver: TensorRT would end the process.
            context: entered.
            plan: without Ultralytics' header.
            where: the file, for messages.

        Raises:
            ModelError: TensorRT can't use it here.
        """
        context.check_thread()
        self._context = context
        self.where = where
        self._log = _logger(trt)
        self.said: Callable[[], str] = self._log.said
        with ExitStack() as undo:
            undo.callback(self._free)  # an error's traceback holds this object: it must not hold the engine
            self._runtime, self._engine = _deserialise(trt, self._log, plan, where)
            self._check_locations()
            self._names = [self._engine.get_tensor_name(index) for index in range(self._engine.num_io_tensors)]
            undo.pop_all()
        super().__init__(context)

    def execution(self, stream: Stream, shapes: Mapping[str, Shape]) -> Execution:
        """Return something that runs it, with memory of its own.

        Each captured graph needs one of its own: binding one anew would pull the memory from under the graph.

        Args:
            stream: that it will run in.
            shapes: of the inputs, by name; those that are left out have to be fixed in the engine.

        Raises:
            ModelError: it doesn't take these shapes, there is no memory, or the outputs' shapes depend on the pictures.
        """
        inputs, profile = self.fit(shapes)
        return Execution(self._context, self, stream, inputs, profile)

    def _check_locations(self) -> None:
        """Refuse tensors that live on the host: they are shapes, which a graph can't hold."""
        for index in range(self._engine.num_io_tensors):
            name = self._engine.get_tensor_name(index)
            if self._engine.get_tensor_location(name).name == "HOST":
                raise ModelError(f"{self.where}: tensor {name!r} is a shape: export the model with plain tensors only")

    def new_context(self) -> Any:  # noqa: ANN401 - TensorRT has no types
        """Return a new execution context; None where there is no memory for it."""
        return self._engine.create_execution_context()

    def names(self, mode: str) -> list[str]:
        """Return the names of the tensors that are INPUT or OUTPUT."""
        return [name for name in self._names if self._engine.get_tensor_mode(name).name == mode]

    def dtype(self, name: str) -> str:
        """Return a tensor's type as NumPy names it.

        Raises:
            ModelError: NumPy has no such type.
        """
        kind = self._engine.get_tensor_dtype(name).name
        if kind not in DTYPES:
            raise ModelError(
                f"{self.where}: tensor {name!r} is {kind}, which NumPy has not: build it with FP32 outputs"
            )
        return DTYPES[kind]

    def fit(self, shapes: Mapping[str, Shape]) -> tuple[tuple[TensorSpec, ...], int]:
        """Return the inputs with the asked shapes, and the first profile that takes all of them.

        Raises:
            ModelError: none does; the text says what they take.
        """
        names = self.names("INPUT")
        wanted = {name: shapes.get(name, tuple(self._engine.get_tensor_shape(name))) for name in names}
        refusals = []
        for profile in range(self._engine.num_optimization_profiles):
            ranges = {name: self._range(name, profile) for name in names}
            refused = [name for name in names if not ranges[name].takes(wanted[name])]
            if not refused:
                return tuple(TensorSpec(name, wanted[name], self.dtype(name)) for name in names), profile
            refusals += [f"input {name!r} takes {ranges[name]}, not {_written(wanted[name])}" for name in refused]
        raise ModelError(f"{self.where}: {'; '.join(refusals)}: build the engine for it (--batch, --input)")

    def _range(self, name: str, profile: int) -> Range:
        fixed = tuple(self._engine.get_tensor_shape(name))
        if -1 not in fixed:
            return Range(fixed, fixed, fixed)
        least, best, most = (tuple(shape) for shape in self._engine.get_tensor_profile_shape(name, profile))
        return Range(least, best, most)

    def _free(self) -> None:
        self._engine = None
        self._runtime = None


class Execution(Owned):
    """One engine with its shapes set and memory to work in: TensorRT's execution context; made by `execution`.

    Attributes:
        inputs, outputs: with every axis known.
    """

    def __init__(
        self, context: Context, engine: TensorRtEngine, stream: Stream, inputs: tuple[TensorSpec, ...], profile: int
    ) -> None:
        self._said = engine.said
        self._where = engine.where
        self.inputs = inputs
        with ExitStack() as undo:
            undo.callback(self._free)  # see TensorRtEngine
            self._running = engine.new_context()
            self._require(self._running is not None, "no memory to run it: use a smaller batch or input")
            if profile != 0:
                chosen = self._running.set_optimization_profile_async(profile, stream.handle)
                self._require(chosen, f"its shape profile {profile} is refused")
            for spec in inputs:
                fits = self._running.set_input_shape(spec.name, spec.shape)
                self._require(fits, f"input {spec.name!r} of shape {spec.shape} is refused")
            missing = self._running.infer_shapes()
            self._require(not missing, f"the shapes of {', '.join(missing)} are still open")
            self.outputs = tuple(self._output(name, engine.dtype(name)) for name in engine.names("OUTPUT"))
            undo.pop_all()
        super().__init__(context)

    def _output(self, name: str, dtype: str) -> TensorSpec:
        shape = tuple(self._running.get_tensor_shape(name))
        if -1 in shape:
            raise ModelError(
                f"{self._where}: output {name!r} of shape {_written(shape)} has as many rows as it finds: export the "
                "model without its NMS"
            )
        return TensorSpec(name, shape, dtype)

    def _require(self, holds: bool, text: str) -> None:
        if not holds:
            raise ModelError(f"{self._where}: {text}: {self._said()}")

    def bind(self, addresses: Mapping[str, int]) -> None:
        """Say once where each tensor lies on the GPU; before it is run for the first time.

        Raises:
            ModelError: one is missing or refused.
        """
        for spec in (*self.inputs, *self.outputs):
            if spec.name not in addresses or not self._running.set_tensor_address(spec.name, addresses[spec.name]):
                raise ModelError(f"{self._where}: no address for tensor {spec.name!r}: {self._said()}")

    def enqueue(self, stream: Stream) -> None:
        """Run it, in the stream's order.

        Raises:
            GpuError: TensorRT refuses; nothing was put into the stream.
        """
        if not self._running.execute_async_v3(stream.handle):
            raise GpuError(f"{self._where}: TensorRT refuses to run it: {self._said()}")

    def _free(self) -> None:
        self._running = None


def _written(shape: Sequence[int]) -> str:
    return " × ".join("?" if axis < 0 else str(axis) for axis in shape)


def _deserialise(
    trt: ModuleType,
    said: Any,  # noqa: ANN401 - see Execution
    plan: bytes | memoryview,
    where: str,
) -> tuple[Any, Any]:
    """Return TensorRT's runtime, which must live as long as the engine, and the engine."""
    name = f"{runtime_of(trt)} {trt.__version__}"
    try:
        runtime = trt.Runtime(said)
    except TypeError as error:  # how its binding says that the library gave nothing
        raise ModelError(f"{where}: {name} can't start here: {said.said()}: check the driver") from error
    engine = runtime.deserialize_cuda_engine(plan)
    if engine is None:
        raise ModelError(
            f"{where}: can't be used with this {name} and GPU: {said.said()}: build it again on this machine with "
            "`taktsight engine build`"
        )
    return runtime, engine


def _logger(trt: ModuleType) -> Any:  # noqa: ANN401 - a class that exists at run time only
    """Return a logger for TensorRT that keeps its last errors, to explain what failed, and passes warnings on."""
    errors = (trt.ILogger.Severity.INTERNAL_ERROR, trt.ILogger.Severity.ERROR)

    class Logger(trt.ILogger):  # type: ignore[misc, name-defined]  # see above
        def __init__(self) -> None:
            trt.ILogger.__init__(self)
            self.lines: deque[str] = deque(maxlen=LINES)

        def log(self, severity: Any, message: str) -> None:  # noqa: ANN401 - an enum of TensorRT's
            if severity in errors:
                self.lines.append(" ".join(message.split()))
            elif severity == trt.ILogger.Severity.WARNING:
                log.debug("TensorRT: %s", message)

        def said(self) -> str:
            text = "; ".join(self.lines) or "it doesn't say why"
            self.lines.clear()
            return text

    return Logger()
