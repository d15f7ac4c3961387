"""The GPU that is measured: one stream, our kernels, and times by its own clock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np
import pycuda.driver as cuda
from numpy.typing import NDArray

from app.bench.device.sizes import Sizes
from app.bench.ratio import Timing
from app.gpu.checked import call, translated
from app.gpu.compiler import Compile, architecture, cached
from app.gpu.context import Context
from app.gpu.event import Event
from app.gpu.graph import Graph
from app.gpu.kernels.source import FLAGS, PROGRAMS, program
from app.gpu.memory import DeviceMemory, PinnedMemory, to_device
from app.gpu.module import Grid, Kernel, Module
from app.gpu.stream import Stream

Record: TypeAlias = Callable[[int], None]
"""Puts the n-th piece of some work into the GPU's stream."""


class Gpu:
    """All that the measurements share; what it gives is closed with the context.

    Args:
        context: entered.
        folder: of compiled kernels.
        compile_: for kernels that are not there yet.
        sizes: how much is measured.
    """

    def __init__(self, context: Context, folder: Path, compile_: Compile, sizes: Sizes) -> None:
        arch = architecture(context.compute_capability)
        self.context, self.stream = context, Stream(context)
        self.burst, self.rounds, self.ring_bytes = sizes.burst, sizes.rounds, sizes.copy_bytes
        self._events = Event(context), Event(context)
        self._modules = {
            name: Module(context, cached(program(name), arch, FLAGS, folder, compile_), name) for name in PROGRAMS
        }

    def describe(self) -> dict[str, str]:
        """Return what the figures belong to."""
        driver = call("cuDriverGetVersion")
        with translated("asking for its name and memory"):
            device = cuda.Device(self.context.ordinal)
            name, memory_bytes = str(device.name()), int(device.total_memory())
        return {
            "gpu": name,
            "compute capability": "{}.{}".format(*self.context.compute_capability),
            "memory": f"{memory_bytes / 2**30:.0f} GiB",
            "driver": f"CUDA {driver // 1000}.{driver % 1000 // 10}",
        }

    def kernel(self, name: str) -> Kernel:
        """Return one of our kernels."""
        return self._modules[name.split("_", 1)[0]].kernel(name)

    def memory(self, nbytes: int) -> DeviceMemory:
        """Take memory on the GPU, filled with zeros."""
        memory = DeviceMemory(self.context, nbytes)
        memory.fill(0, self.stream)
        return memory

    def pinned(self, nbytes: int) -> PinnedMemory:
        """Take memory of the host that the GPU copies by itself."""
        return PinnedMemory(self.context, nbytes)

    def holding(self, array: NDArray[Any]) -> DeviceMemory:
        """Take memory on the GPU with an array's bytes in it."""
        memory = DeviceMemory(self.context, array.nbytes)
        to_device(np.ascontiguousarray(array).reshape(-1).view(np.uint8), memory.address, self.stream)
        self.stream.synchronize()
        return memory

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """Copy within the GPU's memory, in the stream's order."""
        call("cuMemcpyDtoDAsync", to, source, nbytes, self.stream.handle)

    def launch(self, kernel: Kernel, grid: Grid, block: Grid, *addresses: int) -> None:
        """Start a kernel that takes addresses only."""
        kernel.launch(grid, block, self.stream, [np.uint64(address) for address in addresses])

    def graph(self, record: Record, count: int = 1) -> Graph:
        """Capture so many pieces of work; each has run once before, as a capture asks."""
        for index in range(count):
            record(index)
        self.stream.synchronize()

        def all_of_it() -> None:
            for index in range(count):
                record(index)

        return Graph(self.context, self.stream, all_of_it)

    def time(self, record: Record, count: int) -> Timing:
        """Time one piece of work by the GPU's clock.

        Many are started by one graph, so that no launch from the host lies in between.

        Args:
            record: the work; another piece for each number, so that no cache holds what it needs.
            count: pieces in the graph.
        """
        graph, (began, ended), spent_ms = self.graph(record, count), self._events, []
        graph.launch(self.stream)
        for _ in range(self.rounds):
            began.record(self.stream)
            graph.launch(self.stream)
            ended.record(self.stream)
            self.stream.synchronize()
            spent_ms.append(ended.ms_since(began) / count)
        graph.close()
        return Timing(median(spent_ms), min(spent_ms), self.rounds * count)
