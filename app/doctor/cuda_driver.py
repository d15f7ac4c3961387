"""NVIDIA's driver, asked by its own library; a child of the doctor, because a broken one may hang."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from app.doctor.child import answer

NAME_BYTES = 128
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_…

FAULTS = {
    3: "the driver is being unloaded",
    34: "the library is a stub that comes with the toolkit, not the driver",
    100: "no device",
    101: "the device is not there",
    803: "the library and the kernel's module are of different versions",
    804: "this GPU does not support the compatibility libraries",
    999: "unknown error",
}
"""What the library's codes mean here."""


def describe(load: Callable[[str], Any] = ctypes.CDLL) -> dict[str, Any]:
    """Return the CUDA version of the driver and its devices, or `fault`."""
    try:
        cuda = load("libcuda.so.1")
    except OSError as error:
        return {"fault": f"no driver: {error}"}
    code = cuda.cuInit(0)
    if code:
        return {"fault": f"{FAULTS.get(code, 'error')} (CUDA error {code})", "code": code}
    version, count = ctypes.c_int(), ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    cuda.cuDeviceGetCount(ctypes.byref(count))
    return {
        "cuda": f"{version.value // 1000}.{version.value % 1000 // 10}",
        "devices": [_device(cuda, number) for number in range(count.value)],
    }


def _device(cuda: Any, number: int) -> dict[str, Any]:  # noqa: ANN401 - a ctypes library has no type for its symbols
    name = ctypes.create_string_buffer(NAME_BYTES)
    handle, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    cuda.cuDeviceGet(ctypes.byref(handle), number)
    cuda.cuDeviceGetName(name, NAME_BYTES, handle)
    cuda.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, handle)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, handle)
    return {"name": name.value.decode("utf-8", "replace"), "capability": f"{major.value}.{minor.value}"}


if __name__ == "__main__":
    answer(describe())
