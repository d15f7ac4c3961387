"""Memory on the GPU, and memory of the host that the GPU reaches by itself."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from threading import Lock

import numpy as np
import pycuda.driver as cuda
from numpy.typing import NDArray

from app.gpu.checked import call, translated
from app.gpu.context import Context, Owned
from app.gpu.stream import Stream
from app.picture_memory import Block

_PORTABLE, _DEVICE_MAP = 1, 2
"""For all contexts; at an address of the GPU's as well."""

_registered: Counter[int] = Counter()
"""How many engines have a block of memory registered, by its address: the driver takes each but once in a process."""

_registering = Lock()


class DeviceMemory(Owned):
    """Bytes on the GPU.

    Attributes:
        address: of the first byte, as the GPU sees it; aligned to 256 bytes.
        nbytes: how many there are.
    """

    def __init__(self, context: Context, nbytes: int) -> None:
        context.check_thread()
        with translated(f"taking {nbytes:,} bytes of its memory"):
            self._memory: cuda.DeviceAllocation | None = cuda.mem_alloc(nbytes)
        self.address = int(self._memory)
        self.nbytes = nbytes
        super().__init__(context)

    def fill(self, value: int, stream: Stream) -> None:
        """Set every byte, in the stream's order."""
        with translated("filling its memory"):
            cuda.memset_d8_async(self.address, value, self.nbytes, stream.raw)

    def _free(self) -> None:
        memory, self._memory = self._memory, None
        if memory is not None:
            with translated("freeing its memory"):
                memory.free()


class PinnedMemory(Owned):
    """Bytes of the host that are never paged out, so that copies to and from the GPU run by themselves.

    Attributes:
        bytes: uint8 (nbytes,), the memory itself; no view of it may be used after `close`.
        nbytes: how many there are.
        mapped_address: where the GPU sees the very same bytes; None unless it was asked for.
    """

    def __init__(self, context: Context, nbytes: int, *, mapped: bool = False) -> None:
        context.check_thread()
        flags = cuda.host_alloc_flags.DEVICEMAP if mapped else 0
        with translated(f"taking {nbytes:,} bytes of pinned memory"):
            self.bytes: NDArray[np.uint8] = cuda.pagelocked_empty(nbytes, np.uint8, mem_flags=flags)
            self._memory: cuda.HostAllocation | None = self.bytes.base
            self.mapped_address = int(self._memory.get_device_pointer()) if mapped else None
        self.nbytes = nbytes
        super().__init__(context)

    def _free(self) -> None:
        memory, self._memory = self._memory, None
        self.bytes = np.empty(0, np.uint8)
        if memory is not None:
            with translated("freeing pinned memory"):
                memory.free()


class RegisteredMemory(Owned):
    """A camera's block that the GPU reads where it is, as it does pinned memory; the pages stay until it is closed.

    Nothing that reads it may be under way when it is closed.

    Attributes:
        block: the memory.
        mapped_address: where the GPU sees the same bytes; None unless it was asked for.
    """

    def __init__(self, context: Context, block: Block, *, mapped: bool = False) -> None:
        """Register it, or share what another engine has registered.

        Raises:
            GpuError: the driver refuses: it can't, or there are no pages left that it may pin.
        """
        context.check_thread()
        with _registering:
            if not _registered[block.address]:
                call("cuMemHostRegister", block.address, len(block), _PORTABLE | _DEVICE_MAP)
            _registered[block.address] += 1
        self.block = block
        self.mapped_address: int | None = None
        super().__init__(context)
        if mapped:
            with ExitStack() as undo:
                undo.callback(self.close)
                self.mapped_address = int(call("cuMemHostGetDevicePointer", block.address, 0))
                undo.pop_all()

    def _free(self) -> None:
        address = self.block.address
        with _registering:
            _registered[address] -= 1
            if not _registered[address]:
                del _registered[address]
                call("cuMemHostUnregister", address)


def to_device(source: NDArray[np.uint8], address: int, stream: Stream) -> None:
    """Copy to the GPU, in the stream's order; a source in pinned memory must stay as it is until the copy is done."""
    with translated(f"copying {source.nbytes:,} bytes to it"):
        cuda.memcpy_htod_async(address, source, stream.raw)


def to_host(target: NDArray[np.uint8], address: int, stream: Stream) -> None:
    """Copy from the GPU, in the stream's order; the target is filled once the stream has got there."""
    with translated(f"copying {target.nbytes:,} bytes from it"):
        cuda.memcpy_dtoh_async(target, address, stream.raw)
