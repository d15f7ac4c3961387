"""A TensorRT engine on the GPU and what runs it: only the calls that TensorRT 10, 11 and TensorRT for RTX share."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias

from app.errors import GpuError, ModelError
from app.gpu.context import Context, Owned
from app.gpu.stream import Stream
from app.inference.engine_file import Range
from app.inference.tensorrt_module import runtime_of
from app.model import TensorSpec

log = logging.getLogger(__name__)

Shape: TypeAlias = tuple[int, ...]

DTYPES = {
    "FLOAT": "float32",
    "HALF": "float16",
    "INT8": "int8",
    "UINT8": "uint8",
    "INT32": "int32",
    "INT64": "int64",
    "BOOL": "bool",
}
"""TensorRT's names; its own table fails on new NumPys, and knows no name for BF16 and FP8."""

LINES = 8
"""Of TensorRT's log that are kept to explain what failed."""


class TensorRtEngine(Owned):
    """A deserialised engine; its context must be entered. Closed after what runs it, and before the context.

    Attributes:
        inputs: with the shapes that it was opened for.
        outputs: with the shapes that follow from them.
        open_axes: inputs that take more than one shape, by name, with what they take.
    """

    def __init__(
        self, trt: ModuleType, context: Context, plan: bytes | memoryview, shapes: Mapping[str, Shape], where: str
    ) -> None:
        """Load it.

        Args:
            trt: from `find_tensorrt`. Never call this without a driver: TensorRT would end the process.
            context: entered.
            plan: without Ultralytics' header.
            shapes: of the inputs, by name; those that are left out have to be fixed in the engine.
            where: the file, for messages.

        Raises:
            ModelError: TensorRT can't use it here, or it doesn't take these shapes.
        """
        context.check_thread()
        self._where = where
        self._trt = trt
        self._log = _logger(trt)
        self._runtime, self._engine = _deserialise(trt, self._log, plan, where)
        self._check_locations()
        self._names = [self._engine.get_tensor_name(index) for index in range(self._engine.num_io_tensors)]
        self.inputs, self._profile = self._fit(shapes)
        self.outputs: tuple[TensorSpec, ...] = ()
        super().__init__(context)

    def execution(self, context: Context, stream: Stream) -> Execution:
        """Return something that runs it with the shapes it was opened for, with memory of its own.

        Each captured graph needs one of its own: binding one anew would pull the memory from under the graph.

        Raises:
            ModelError: there is no memory for it, or the outputs' shapes depend on the pictures.
        """
        running = self._engine.create_execution_context()
        if running is None:
            raise ModelError(f"{self._where}: no memory to run it: {self._said()}: use a smaller batch or input")
        if self._profile != 0 and not running.set_optimization_profile_async(self._profile, stream.handle):
            raise ModelError(f"{self._where}: its shape profile {self._profile} is refused: {self._said()}")
        for spec in self.inputs:
            if not running.set_input_shape(spec.name, spec.shape):
                raise ModelError(f"{self._where}: input {spec.name!r} of shape {spec.shape} is refused: {self._said()}")
        if missing := running.infer_shapes():
            raise ModelError(f"{self._where}: the shapes of {', '.join(missing)} are still open")
        outputs = tuple(self._output(running, name) for name in self._names_of("OUTPUT"))
        self.outputs = outputs
        return Execution(context, running, (*self.inputs, *outputs), self._log, self._where)

    def _check_locations(self) -> None:
        """Refuse tensors that live on the host: they are shapes, which a graph can't hold."""
        for index in range(self._engine.num_io_tensors):
            name = self._engine.get_tensor_name(index)
            if self._engine.get_tensor_location(name).name == "HOST":
                raise ModelError(f"{self._where}: tensor {name!r} is a shape: export the model with plain tensors only")

    def _names_of(self, mode: str) -> list[str]:
        return [name for name in self._names if self._engine.get_tensor_mode(name).name == mode]

    def _dtype(self, name: str) -> str:
        kind = self._engine.get_tensor_dtype(name).name
        if kind not in DTYPES:
            raise ModelError(
                f"{self._where}: tensor {name!r} is {kind}, which NumPy has not: build it with FP32 outputs"
            )
        return DTYPES[kind]

    def _fit(self, shapes: Mapping[str, Shape]) -> tuple[tuple[TensorSpec, ...], int]:
        """Return the inputs with the asked shapes, and the first profile that takes all of them."""
        names = self._names_of("INPUT")
        wanted = {name: shapes.get(name, tuple(self._engine.get_tensor_shape(name))) for name in names}
        refusals = []
        for profile in range(self._engine.num_optimization_profiles):
            ranges = {name: self._range(name, profile) for name in names}
            refused = [name for name in names if not ranges[name].takes(wanted[name])]
            if not refused:
                return tuple(TensorSpec(name, wanted[name], self._dtype(name)) for name in names), profile
            refusals += [f"input {name!r} takes {ranges[name]}, not {_written(wanted[name])}" for name in refused]
        raise ModelError(f"{self._where}: {'; '.join(refusals)}: build the engine for it (--batch, --input)")

    def _range(self, name: str, profile: int) -> Range:
        fixed = tuple(self._engine.get_tensor_shape(name))
        if -1 not in fixed:
            return Range(fixed, fixed, fixed)
        least, best, most = (tuple(shape) for shape in self._engine.get_tensor_profile_shape(name, profile))
        return Range(least, best, most)

    def _output(self, running: Any, name: str) -> TensorSpec:  # noqa: ANN401 - TensorRT has no types
        shape = tuple(running.get_tensor_shape(name))
        if -1 in shape:
            raise ModelError(
                f"{self._where}: output {name!r} of shape {shape} has as many rows as it finds: export the model "
                "without its NMS"
            )
        return TensorSpec(name, shape, self._dtype(name))

    def _said(self) -> str:
        return str(self._log.said())

    def _free(self) -> None:
        self._engine = None
        self._runtime = None


class Execution(Owned):
    """One engine with its shapes set and memory to work in: TensorRT's execution context.

    Attributes:
        tensors: all inputs and outputs.
    """

    def __init__(
        self,
        context: Context,
        running: Any,  # noqa: ANN401 - TensorRT has no types
        tensors: Sequence[TensorSpec],
        said: Any,  # noqa: ANN401 - its logger, a class that exists at run time only
        where: str,
    ) -> None:
        self._running = running
        self._said = said
        self._where = where
        self.tensors = tuple(tensors)
        super().__init__(context)

    def bind(self, addresses: Mapping[str, int]) -> None:
        """Say once where each tensor lies on the GPU; before it is run for the first time.

        Raises:
            ModelError: one is missing or refused.
        """
        for spec in self.tensors:
            if spec.name not in addresses or not self._running.set_tensor_address(spec.name, addresses[spec.name]):
                raise ModelError(f"{self._where}: no address for tensor {spec.name!r}: {self._said.said()}")

    def enqueue(self, stream: Stream) -> None:
        """Run it, in the stream's order.

        Raises:
            GpuError: TensorRT refuses; nothing was put into the stream.
        """
        if not self._running.execute_async_v3(stream.handle):
            raise GpuError(f"{self._where}: TensorRT refuses to run it: {self._said.said()}")

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
