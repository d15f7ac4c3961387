"""The kernels on the processor: built by g++, launched with the arguments that a GPU would get."""

import ctypes
import subprocess
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np

from tests.conftest import ROOT

HERE = Path(__file__).parent
SOURCES = ROOT / "app" / "gpu" / "kernels"
Size: TypeAlias = tuple[int, int, int]
FLAGS = ("-DHOST", "-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror")


def build(folder: Path) -> Path:
    """Compile all kernels into one library in a folder and return it; `emu_NAME` and `emu_NAME_sig` for each."""
    library = folder / "libkernels.so"
    command = ["g++", *FLAGS, f"-I{SOURCES}", str(HERE / "host.cpp"), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


class Kernels(Protocol):
    """Launches kernels, wherever they run."""

    def launch(self, name: str, grid: Size, block: Size, *arrays: np.ndarray) -> None:
        """Run one kernel to its end, with the arrays' memory as its arguments."""
        ...


class HostKernels(Kernels):
    """Launches kernels of a library that `build` made."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))

    def launch(self, name: str, grid: Size, block: Size, *arrays: np.ndarray) -> None:
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        arguments = (ctypes.c_void_p * len(pointers))(*[ctypes.addressof(pointer) for pointer in pointers])
        three = ctypes.c_uint * 3
        getattr(self._library, f"emu_{name}")(three(*grid), three(*block), arguments)
