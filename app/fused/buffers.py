"""The memory of one lane: what goes up for a frame, the network's tensors, what comes down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.gpu.context import Context
from app.gpu.kernels import decode_jobs, letterbox_jobs
from app.gpu.memory import DeviceMemory, PinnedMemory, to_device, to_host
from app.gpu.stream import Stream
from app.inference.shapes import known_shape
from app.inference.tensorrt_backend import nbytes
from app.model import TensorSpec

ALIGNMENT = 256


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _pointer(address: int) -> np.uint64:
    """Return an address as a kernel takes it."""
    pointer: np.uint64 = np.uint64(address)
    return pointer


class Buffers:
    """All of it is taken at once, and nothing per frame.

    What goes up: what the kernels are told about each place of the batch, then frames, out of this block or out of the
    cameras' own memory. Where the GPU shares the machine's memory it reads both where they are, and nothing goes up.

    Attributes:
        letterbox_jobs, decode_jobs: records in the block, one for each place.
        frame: uint8, the block's rest, `capacity` long: for frames that lie where the GPU can't read.
        are_shared: the GPU reads the host's memory.
        results: one record for each place, as the decode kernels gave it; valid until the next frame.
        outputs: the network's raw outputs, by name, once `download_outputs` was waited for.
    """

    def __init__(
        self, context: Context, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], batch: int, capacity: int
    ) -> None:
        decode_begins = _aligned(batch * letterbox_jobs.JOB.itemsize)
        self._frame_begins = decode_begins + _aligned(batch * decode_jobs.JOB.itemsize)
        size = self._frame_begins + capacity
        self._specs = tuple(outputs)
        self.are_shared = context.integrated
        self._block = PinnedMemory(context, size, mapped=context.integrated)
        self._uploaded = None if context.integrated else DeviceMemory(context, size)
        self._tensors = {spec.name: DeviceMemory(context, nbytes(spec)) for spec in (*inputs, *outputs)}
        self._outputs = {spec.name: PinnedMemory(context, nbytes(spec)) for spec in outputs}
        self._results = PinnedMemory(context, batch * decode_jobs.RESULT.itemsize)
        self._results_there = DeviceMemory(context, batch * decode_jobs.RESULT.itemsize)
        data = self._block.bytes
        self.letterbox_jobs: NDArray[np.void] = data[: batch * letterbox_jobs.JOB.itemsize].view(letterbox_jobs.JOB)
        decode_ends = decode_begins + batch * decode_jobs.JOB.itemsize
        self.decode_jobs: NDArray[np.void] = data[decode_begins:decode_ends].view(decode_jobs.JOB)
        self.frame: NDArray[np.uint8] = data[self._frame_begins :]
        self.results: NDArray[np.void] = self._results.bytes.view(decode_jobs.RESULT)
        self.outputs: dict[str, NDArray[Any]] = {
            spec.name: self._outputs[spec.name].bytes.view(spec.dtype).reshape(known_shape(spec)) for spec in outputs
        }
        self._decode_begins = decode_begins

    @property
    def _base(self) -> int:
        mapped = self._block.mapped_address
        if self._uploaded is not None:
            return self._uploaded.address
        assert mapped is not None, "mapped where the memory is shared"
        return mapped

    @property
    def letterbox_address(self) -> np.uint64:
        """Of the letterbox jobs, as the GPU sees them."""
        return _pointer(self._base)

    @property
    def decode_address(self) -> np.uint64:
        """Of the decode jobs, as the GPU sees them."""
        return _pointer(self._base + self._decode_begins)

    @property
    def frame_address(self) -> np.uint64:
        """Of the frame, as the GPU sees it."""
        return _pointer(self.frame_there(0))

    @property
    def results_address(self) -> np.uint64:
        """Of the results, as the GPU sees them."""
        return _pointer(self._results_there.address)

    def addresses(self) -> dict[str, int]:
        """Return where each tensor of the network lies."""
        return {name: memory.address for name, memory in self._tensors.items()}

    def tensor_address(self, name: str) -> np.uint64:
        """Return where one tensor of the network lies."""
        return _pointer(self._tensors[name].address)

    def clear(self, stream: Stream) -> None:
        """Set the network's inputs to zero: places that no picture takes are read all the same."""
        for memory in self._tensors.values():
            memory.fill(0, stream)

    def poison(self, stream: Stream) -> None:
        """Overwrite all that a frame leaves behind, so that what was left from an earlier one shows."""
        for spec in self._specs:
            self._tensors[spec.name].fill(0xFF, stream)
        self._results_there.fill(0xFF, stream)

    def upload_jobs(self, stream: Stream) -> None:
        """Bring up what the kernels are told."""
        if self._uploaded is not None:
            to_device(self._block.bytes[: self._frame_begins], self._uploaded.address, stream)

    def upload_frame(self, data: NDArray[np.uint8], start: int, stream: Stream) -> None:
        """Bring up a frame, to so many bytes after the place for frames."""
        if self._uploaded is not None:
            to_device(data, self.frame_there(start), stream)

    def frame_there(self, start: int) -> int:
        """Return where a frame that begins there lies, as the GPU sees it."""
        return self._base + self._frame_begins + start

    def download_results(self, stream: Stream) -> None:
        """Bring down what the decode kernels found."""
        to_host(self._results.bytes, self._results_there.address, stream)

    def download_outputs(self, stream: Stream) -> None:
        """Bring down the network's outputs, whole."""
        for name, pinned in self._outputs.items():
            to_host(pinned.bytes, self._tensors[name].address, stream)

    def close(self) -> None:
        """Give everything back; safe to call twice."""
        owned = (*self._tensors.values(), *self._outputs.values(), self._results, self._results_there, self._block)
        for memory in owned:
            memory.close()
        if self._uploaded is not None:
            self._uploaded.close()
