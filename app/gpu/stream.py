"""Streams: work that the GPU does in order, beside the host."""

from __future__ import annotations

import pycuda.driver as cuda

from app.gpu.checked import translated
from app.gpu.context import Context, Owned

_NON_BLOCKING = 1
"""Waits for no other stream and no other stream waits for it, so that others' work can't spoil a capture."""


class Stream(Owned):
    """A non-blocking stream.

    Attributes:
        handle: the driver's own, for TensorRT and cuda-bindings.
        raw: PyCUDA's.
    """

    def __init__(self, context: Context) -> None:
        context.check_thread()
        with translated("making a stream"):
            self.raw: cuda.Stream | None = cuda.Stream(_NON_BLOCKING)
        self.handle = int(self.raw.handle)
        super().__init__(context)

    def synchronize(self) -> None:
        """Wait until all that was put into it is done.

        Raises:
            GpuError: something of it failed.
        """
        self._owner.check_thread()
        assert self.raw is not None, "open"
        with translated("waiting for a stream"):
            self.raw.synchronize()

    def _free(self) -> None:
        self.raw = None  # PyCUDA destroys it with its last reference; it has no other way
