"""Streams: work that the GPU does in order, beside the host."""

from __future__ import annotations

import pycuda.driver as cuda

from app.errors import GpuError
from app.gpu.checked import translated
from app.gpu.context import Context, Owned

_NON_BLOCKING = 1
"""Waits for no other stream and no other stream waits for it, so that others' work can't spoil a capture."""


class Stream(Owned):
    """A non-blocking stream."""

    def __init__(self, context: Context) -> None:
        context.check_thread()
        with translated("making a stream"):
            self._stream: cuda.Stream | None = cuda.Stream(_NON_BLOCKING)
        super().__init__(context)

    @property
    def raw(self) -> cuda.Stream:
        """PyCUDA's stream.

        Raises:
            GpuError: another thread asks, or it is closed: without a stream PyCUDA would take the default one.
        """
        self._owner.check_thread()
        if self._stream is None:
            raise GpuError("GPU: this stream is closed")
        return self._stream

    @property
    def handle(self) -> int:
        """The driver's own, for TensorRT and cuda-bindings; refused as `raw` is."""
        return int(self.raw.handle)

    def synchronize(self) -> None:
        """Wait until all that was put into it is done.

        Raises:
            GpuError: something of it failed.
        """
        with translated("waiting for a stream"):
            self.raw.synchronize()  # in no variable: an error's traceback would hold it, and the stream never end

    def _free(self) -> None:
        self._stream = None  # PyCUDA destroys it with its last reference; it has no other way
