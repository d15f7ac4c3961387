"""Compiled kernels on the GPU, and how they are started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pycuda.driver as cuda
from numpy.typing import NDArray

from app.gpu.checked import translated
from app.gpu.context import Context, Owned
from app.gpu.stream import Stream

Grid: TypeAlias = tuple[int, int, int]
Argument: TypeAlias = np.generic | NDArray[Any]


class Module(Owned):
    """Kernels that were loaded from one binary."""

    def __init__(self, context: Context, binary: bytes, name: str) -> None:
        """Load them.

        Args:
            context: where.
            binary: a cubin for this GPU, or PTX.
            name: for messages.

        Raises:
            GpuError: it is none for this GPU.
        """
        context.check_thread()
        with translated(f"loading the kernels {name!r} (NVRTC must not be newer than the driver's CUDA)"):
            self._module: cuda.Module | None = cuda.module_from_buffer(binary)
        self._name = name
        self._kernels: dict[str, Kernel] = {}
        super().__init__(context)

    def kernel(self, name: str) -> Kernel:
        """Return one of its kernels; usable until the module is closed.

        Raises:
            GpuError: there is none of this name.
        """
        assert self._module is not None, "open"
        if name not in self._kernels:
            with translated(f"finding the kernel {name!r} in {self._name!r}"):
                self._kernels[name] = Kernel(self._module.get_function(name), name)
        return self._kernels[name]

    def _free(self) -> None:
        # PyCUDA unloads a module with its last reference, and each of its functions holds one.
        for kernel in self._kernels.values():
            kernel.forget()
        self._module = None


class Kernel:
    """One function on the GPU."""

    def __init__(self, function: cuda.Function, name: str) -> None:
        self._function: cuda.Function | None = function
        self._name = name

    def launch(self, grid: Grid, block: Grid, stream: Stream, arguments: Sequence[Argument]) -> None:
        """Start it, in the stream's order.

        Args:
            grid: blocks along x, y, z.
            block: threads of one block along x, y, z.
            stream: where.
            arguments: NumPy scalars, or records of shape (), of exactly the types that the kernel takes; addresses as
                `np.uint64`.
        """
        assert self._function is not None, "its module is open"
        with translated(f"starting the kernel {self._name!r}"):
            # The public calls of PyCUDA set the block by a deprecated function first; this one is cuLaunchKernel alone.
            self._function._launch_kernel(grid, block, pack(arguments), 0, stream.raw)

    def forget(self) -> None:
        """Let go of the function; its module is being closed."""
        self._function = None


def pack(arguments: Sequence[Argument]) -> bytes:
    """Return arguments as a kernel finds them: each at a multiple of its own alignment."""
    packed = bytearray()
    for argument in arguments:
        packed += b"\0" * (-len(packed) % argument.dtype.alignment)
        packed += argument.tobytes()
    return bytes(packed)
