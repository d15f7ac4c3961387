"""What this machine is, as far as an engine depends on it; asked of the driver before TensorRT is touched."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from app.errors import ModelError
from app.inference.engine_file import Machine
from app.inference.tensorrt_module import runtime_of

DRIVER_LIBRARY = "libcuda.so.1"
DRIVER_FILES = (Path("/proc/driver/nvidia/version"), Path("/sys/module/nvidia/version"))
L4T_FILE = Path("/etc/nv_tegra_release")

_NAME_BYTES = 256
_MAJOR, _MINOR, _INTEGRATED = 75, 76, 18
"""Numbers of device attributes in cuda.h."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """The first GPU, as its driver describes it.

    Attributes:
        cuda: the version that the driver offers, e.g. "12.6".
        integrated: it shares the machine's memory, as a Jetson's does.
        free_bytes: of device memory now; None where that can't be told.
    """

    name: str
    compute_capability: str
    cuda: str
    integrated: bool
    free_bytes: int | None


def this_machine(trt: ModuleType, gpu: Gpu | None) -> Machine:
    """Describe this machine for a manifest, or to compare with one.

    Args:
        trt: the module that builds or runs the engine.
        gpu: from `find_gpu`.
    """
    version = str(trt.__version__)
    if gpu is None:
        return Machine(runtime_of(trt), version)
    return Machine(runtime_of(trt), version, gpu.cuda, driver_version(), gpu.name, gpu.compute_capability)


def find_gpu(library: str = DRIVER_LIBRARY) -> Gpu | None:
    """Ask the driver for the first GPU; None without a driver or a device that works.

    TensorRT must not be asked: without a driver it ends the process.
    """
    try:
        return _ask(ctypes.CDLL(library))
    except (OSError, AttributeError, _Refused):
        return None


def require_gpu(where: str) -> None:
    """See that there is a GPU, before anything is touched that ends the process without one.

    Args:
        where: the engine's file, for the text.

    Raises:
        ModelError: there is none.
    """
    if find_gpu() is None:
        raise ModelError(
            f"{where}: there is no NVIDIA GPU with a driver here, and an engine runs on nothing else: look at "
            "nvidia-smi, or run the .onnx file with device: cpu"
        )


class _Refused(Exception):  # noqa: N818 - named after what the driver did
    """A call of the driver failed."""


def _ask(cuda: ctypes.CDLL) -> Gpu:
    _call(cuda.cuInit, 0)
    device, version = ctypes.c_int(), ctypes.c_int()
    _call(cuda.cuDeviceGet, ctypes.byref(device), 0)
    name = ctypes.create_string_buffer(_NAME_BYTES)
    _call(cuda.cuDeviceGetName, name, _NAME_BYTES, device)
    _call(cuda.cuDriverGetVersion, ctypes.byref(version))
    major, minor, integrated = (_attribute(cuda, number, device) for number in (_MAJOR, _MINOR, _INTEGRATED))
    return Gpu(
        name.value.decode("utf-8", "replace"),
        f"{major}.{minor}",
        f"{version.value // 1000}.{version.value % 1000 // 10}",
        bool(integrated),
        _free_bytes(cuda, device),
    )


def _attribute(cuda: ctypes.CDLL, number: int, device: ctypes.c_int) -> int:
    value = ctypes.c_int()
    _call(cuda.cuDeviceGetAttribute, ctypes.byref(value), number, device)
    return value.value


def _free_bytes(cuda: ctypes.CDLL, device: ctypes.c_int) -> int | None:
    """Return the free device memory; it takes a context to ask, which is given back at once."""
    context, free, total = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
    try:
        _call(cuda.cuDevicePrimaryCtxRetain, ctypes.byref(context), device)
    except (_Refused, AttributeError):
        return None
    try:
        _call(cuda.cuCtxPushCurrent_v2, context)
        code = cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        _call(cuda.cuCtxPopCurrent_v2, ctypes.byref(context))
    except (_Refused, AttributeError):
        return None
    finally:
        cuda.cuDevicePrimaryCtxRelease_v2(device)
    return free.value if code == 0 else None


def _call(function: ctypes._NamedFuncPointer, *arguments: object) -> None:
    if (code := function(*arguments)) != 0:
        raise _Refused(f"{function.__name__}: {code}")


def driver_version(files: Iterable[Path] = (L4T_FILE, *DRIVER_FILES)) -> str | None:
    """Return the version of the driver: 36.4.3 of a Jetson, 580.65.06 of a kernel module; else None."""
    for file in files:
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if found := re.search(r"# R(\d+) .*?REVISION: ([\d.]+)", text):
            return f"{found[1]}.{found[2]}"
        if found := re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", text):
            return found[1]
    return None
