"""Whether there is a GPU that can be measured."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

NO_GPU = 3
"""The exit code where there is nothing to measure on."""

_NO_DEVICE = 100


def gpu_fault(load: Callable[[str], Any] = ctypes.CDLL) -> str | None:
    """Return why nothing can be run on a GPU here, in one line; None where it can.

    Asks the driver's own library and nothing else: PyCUDA can't even be imported without it.
    """
    try:
        cuda = load("libcuda.so.1")
    except OSError:
        return "there is no NVIDIA driver here (libcuda.so.1)"
    code, count = cuda.cuInit(0), ctypes.c_int()
    if code == 0:
        code = cuda.cuDeviceGetCount(ctypes.byref(count))
    if code not in (0, _NO_DEVICE):
        return f"the NVIDIA driver refuses (CUDA error {code}); nvidia-smi may say more"
    return None if count.value else "there is no NVIDIA GPU here"


def refusal() -> str | None:
    """Return what is said where nothing can be run, or None."""
    fault = gpu_fault()
    return None if fault is None else f"gpu_check: {fault}: nothing was run"


if __name__ == "__main__":
    said = refusal()
    if said is not None:
        sys.stdout.write(said + "\n")
        sys.exit(NO_GPU)
