"""The kernels on a GPU: compiled there, launched with the arguments that the processor's emulation gets."""

import ctypes
from pathlib import Path

import numpy as np

from app.gpu.compiler import architecture, cached
from app.gpu.kernels.source import FLAGS, PROGRAMS, program
from app.gpu.memory import DeviceMemory, to_device, to_host
from app.gpu.module import Module
from app.gpu.stream import Stream
from tests.gpu.kernels.host import Kernels


def gpu_is_here() -> bool:
    """Whether a driver is there and has a GPU; asks nothing that could not be asked again."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


class DeviceKernels(Kernels):
    """Copies arrays to the GPU, launches, and copies all of them back, so that it looks like the emulation.

    Args:
        context: entered.
        folder: of compiled kernels.
        compile_: see `app.gpu.compiler.cached`.
    """

    def __init__(self, context, folder: Path, compile_) -> None:
        arch = architecture(context.compute_capability)
        self._context, self._stream = context, Stream(context)
        self._modules = {
            name: Module(context, cached(program(name), arch, FLAGS, folder, compile_), name) for name in PROGRAMS
        }

    def launch(self, name, grid, block, *arrays):
        kernel = self._modules[name.split("_")[0]].kernel(name)
        flat = [array.reshape(-1).view(np.uint8) for array in arrays]
        memories = [DeviceMemory(self._context, array.nbytes) for array in flat]
        for array, memory in zip(flat, memories, strict=True):
            to_device(array, memory.address, self._stream)
        kernel.launch(grid, block, self._stream, [np.uint64(memory.address) for memory in memories])
        for array, memory in zip(flat, memories, strict=True):
            to_host(array, memory.address, self._stream)
        self._stream.synchronize()
        for memory in memories:
            memory.close()
