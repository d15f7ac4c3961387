"""A stand-in for the module `tensorrt`: the same names, an engine that is an ONNX model run by ONNX Runtime.

It runs on the memory and in the streams of the driver on host memory (fakecuda.c), so that capturing, replaying and
fixed addresses are as with the real one. A plan is `plan_of(model)`; what it refuses can be planned, too.
"""

import ctypes
import enum
import json
import threading
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import onnxruntime as ort

from tests.gpu.fake_driver import fake_driver

MAGIC = b"FAKEPLAN"


def plan_of(model: bytes, profiles: list[dict[str, list[tuple[int, ...]]]] | None = None, **faults: object) -> bytes:
    """Return an engine of an ONNX file.

    Args:
        model: the file's bytes.
        profiles: least, best and most shape for each input with open axes, one dictionary for each profile.
        faults: `refuses_capture` and so on; see `IExecutionContext`.
    """
    header = json.dumps({"profiles": profiles or [{}], "faults": faults}).encode()
    return MAGIC + len(header).to_bytes(4, "little") + header + model


class DataType(enum.Enum):
    FLOAT, HALF, INT8, INT32, BOOL, UINT8, FP8, BF16, INT64 = range(9)


class TensorIOMode(enum.Enum):
    NONE, INPUT, OUTPUT = range(3)


class TensorLocation(enum.Enum):
    DEVICE, HOST = range(2)


class Severity(enum.IntEnum):
    INTERNAL_ERROR, ERROR, WARNING, INFO, VERBOSE = range(5)


TYPES = {
    "tensor(float)": (DataType.FLOAT, np.float32),
    "tensor(float16)": (DataType.HALF, np.float16),
    "tensor(int64)": (DataType.INT64, np.int64),
    "tensor(int32)": (DataType.INT32, np.int32),
    "tensor(uint8)": (DataType.UINT8, np.uint8),
}


class ILogger:
    Severity = Severity


class Gate:
    """Where a plan with the fault `waits_for` waits until a test lets it be loaded."""

    def __init__(self, *, opened: bool = False) -> None:
        self.reached, self._opened = threading.Event(), threading.Event()
        if opened:
            self.open()

    def open(self) -> None:
        self._opened.set()

    def pass_through(self) -> None:
        self.reached.set()
        assert self._opened.wait(60)


GATES: dict[str, Gate] = {}
"""By the name that a plan's `waits_for` gives."""


class Runtime:
    def __init__(self, logger: ILogger) -> None:
        self.logger = logger

    def deserialize_cuda_engine(self, plan: bytes | memoryview) -> "ICudaEngine | None":
        data = bytes(plan)
        if not data.startswith(MAGIC):  # no exception, as with the real one
            self.logger.log(Severity.ERROR, "Serialization assertion stdVersionRead == kSERIALIZATION_VERSION failed.")
            return None
        end = 12 + int.from_bytes(data[8:12], "little")
        GATES.get(json.loads(data[12:end])["faults"].get("waits_for", ""), Gate(opened=True)).pass_through()
        return ICudaEngine(json.loads(data[12:end]), data[end:], self.logger)


class ICudaEngine:
    def __init__(self, header: dict, model: bytes, logger: ILogger) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.faults, self._profiles, self.logger = header["faults"], header["profiles"], logger
        inputs, outputs = self.session.get_inputs(), self.session.get_outputs()
        self.tensors = {node.name: (node, TensorIOMode.INPUT) for node in inputs}
        self.tensors |= {node.name: (node, TensorIOMode.OUTPUT) for node in outputs}
        self.num_io_tensors = len(self.tensors)
        self.num_optimization_profiles = len(self._profiles)

    def get_tensor_name(self, index: int) -> str:
        return list(self.tensors)[index]

    def get_tensor_mode(self, name: str) -> TensorIOMode:
        return self.tensors[name][1]

    def get_tensor_dtype(self, name: str) -> DataType:
        return DataType[self.faults["dtype"]] if "dtype" in self.faults else TYPES[self.tensors[name][0].type][0]

    def get_tensor_location(self, name: str) -> TensorLocation:
        return TensorLocation.HOST if name == self.faults.get("on_host") else TensorLocation.DEVICE

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return tuple(axis if isinstance(axis, int) else -1 for axis in self.tensors[name][0].shape)

    def get_tensor_profile_shape(self, name: str, profile: int) -> list[tuple[int, ...]]:
        return [tuple(shape) for shape in self._profiles[profile][name]]

    def create_execution_context(self) -> "IExecutionContext | None":
        if self.faults.get("no_memory"):
            self.logger.log(Severity.ERROR, "IExecutionContext::IExecutionContext: Error Code 2: OutOfMemory")
            return None
        return IExecutionContext(self)


class IExecutionContext:
    """Runs when its stream gets there.

    Faults: `refuses_capture` refuses to be enqueued while the stream is captured, recording nothing; `spoils_capture`
    does what may not be captured; `silent_capture` says yes and records nothing, so that a replay would leave the last
    picture's results; `refuses` refuses always; `spoilt` is a number that each output's last column gets.
    """

    enqueued = 0
    made_on: ClassVar[list[str]] = []
    """The threads on which they were made, by name."""

    def __init__(self, engine: ICudaEngine) -> None:
        self.engine = engine
        self.made_on.append(threading.current_thread().name)
        self._addresses: dict[str, int] = {}
        self._shapes = {name: engine.get_tensor_shape(name) for name in engine.tensors}
        self._profile = 0
        self._kept: list[object] = []
        self._cuda = ctypes.CDLL("libcuda.so.1")
        fake_driver()

    def set_optimization_profile_async(self, profile: int, stream: int) -> bool:
        self._profile = profile
        return stream != 0

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        if -1 in self.engine.get_tensor_shape(name):
            least, _, most = self.engine.get_tensor_profile_shape(name, self._profile)
            if not all(low <= axis <= high for low, axis, high in zip(least, shape, most, strict=True)):
                self.engine.logger.log(Severity.ERROR, "setInputShape: Error Code 3: shape out of range")
                return False
        self._shapes[name] = tuple(shape)
        return True

    def infer_shapes(self) -> list[str]:
        return []

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        shape = self._shapes[name]
        if self.engine.faults.get("rows_as_found"):
            return shape
        batch = next(iter(self._shapes.values()))[0]
        return (batch, *shape[1:]) if shape and shape[0] == -1 else shape

    def set_tensor_address(self, name: str, address: int) -> bool:
        if name not in self.engine.tensors or name == self.engine.faults.get("no_address"):
            return False
        self._addresses[name] = address
        return True

    def execute_async_v3(self, stream: int) -> bool:
        faults, status = self.engine.faults, ctypes.c_int()
        self._cuda.cuStreamIsCapturing(ctypes.c_void_p(stream), ctypes.byref(status))
        if set(self._addresses) != set(self.engine.tensors) or faults.get("refuses"):
            self.engine.logger.log(Severity.ERROR, "enqueueV3: Error Code 1: Myelin ([::0] failed)")
            return False
        if status.value and faults.get("refuses_capture"):
            self.engine.logger.log(Severity.ERROR, "operation not permitted when stream is capturing")
            return False
        if status.value and faults.get("silent_capture"):
            return True
        IExecutionContext.enqueued += 1
        work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._work(dict(self._addresses)))
        self._kept.append(work)
        taken = self._cuda.cuLaunchHostFunc(ctypes.c_void_p(stream), work, None) == 0
        if status.value and faults.get("spoils_capture"):
            self._cuda.cuCtxSynchronize()
        return taken

    def _work(self, addresses: dict[str, int]):
        """Return what the GPU would do; the addresses are those of now, as in a captured graph."""

        def array(name: str, shape: tuple[int, ...]) -> np.ndarray:
            dtype = np.dtype(TYPES[self.engine.tensors[name][0].type][1])
            memory = (ctypes.c_uint8 * (int(np.prod(shape)) * dtype.itemsize)).from_address(addresses[name])
            return np.frombuffer(memory, dtype).reshape(shape)

        def work(_: object) -> None:
            modes = {name: mode for name, (_, mode) in self.engine.tensors.items()}
            feeds = {name: array(name, self._shapes[name]) for name in modes if modes[name] is TensorIOMode.INPUT}
            names = [name for name in modes if modes[name] is TensorIOMode.OUTPUT]
            for name, value in zip(names, self.engine.session.run(names, feeds), strict=True):
                np.copyto(array(name, value.shape), value)
                if "spoilt" in self.engine.faults:
                    array(name, value.shape)[..., -1] = self.engine.faults["spoilt"]

        return work


def module(version: str = "10.3.0", **changes: object) -> SimpleNamespace:
    """Return the module; `changes` take names away (None) or put others in their place."""
    names = {
        "__version__": version,
        "NetworkDefinitionCreationFlag": SimpleNamespace(EXPLICIT_BATCH=0, STRONGLY_TYPED=1),
        "DataType": DataType,
        "TensorIOMode": TensorIOMode,
        "TensorLocation": TensorLocation,
        "ILogger": ILogger,
        "Runtime": Runtime,
        "ICudaEngine": ICudaEngine,
        "IExecutionContext": IExecutionContext,
    }
    return SimpleNamespace(**{name: value for name, value in (names | changes).items() if value is not None})
