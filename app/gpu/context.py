"""The primary context of a GPU: who may use it, and in what order all that lives in it is given back."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from contextlib import ExitStack
from types import TracebackType

import pycuda.driver as cuda
from typing_extensions import Self

from app.errors import GpuError
from app.gpu.checked import call, translated


class Context:
    """The primary context of one GPU, current on the thread that entered it first.

    It is the primary one because TensorRT and ONNX Runtime use that; things of another context can't be given to them.
    Whoever enters it again shares it, on the same thread; the last one out closes what is still open in it, newest
    first, and gives it back.

    Attributes:
        compute_capability: e.g. (8, 7); known once entered.
        integrated: the GPU shares the machine's memory, as a Jetson's does; known once entered.
    """

    def __init__(self, ordinal: int = 0) -> None:
        self.ordinal = ordinal
        self.compute_capability = (0, 0)
        self.integrated = False
        self._entered = 0
        self._owner: threading.Thread | None = None
        self._open: dict[int, Owned] = {}
        self._context: cuda.Context | None = None

    def __enter__(self) -> Self:
        """Retain the context and make it current on this thread.

        Raises:
            GpuError: there is no such GPU, the driver refuses, or another thread owns the context.
        """
        if self._entered:
            self.check_thread()
            self._entered += 1
            return self
        with ExitStack() as undo, translated(f"opening GPU {self.ordinal}"):
            cuda.init()
            device = cuda.Device(self.ordinal)
            self.compute_capability = device.compute_capability()
            self.integrated = bool(device.get_attribute(cuda.device_attribute.INTEGRATED))
            self._context = device.retain_primary_context()
            undo.callback(self._give_back)
            self._context.push()
            undo.pop_all()
        self._owner = threading.current_thread()
        self._entered = 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave it; the last one out closes what is open and gives the context back."""
        if self._entered == 0:
            return
        self.check_thread()
        if self._entered > 1:
            self._entered -= 1
            return
        with ExitStack() as stack:
            stack.callback(self._leave)
            for owned in self._open.copy().values():  # the stack closes them newest first, whatever one of them raises
                stack.callback(owned.close)

    def check_thread(self) -> None:
        """Refuse a thread other than the one that owns the context.

        Raises:
            GpuError: it is another one, or the context is not entered.
        """
        owner = self._owner
        if owner is None:
            raise GpuError("GPU: the context is not entered: enter it before anything is made in it")
        if owner is not threading.current_thread():
            here = threading.current_thread().name
            raise GpuError(
                f"GPU: used on the thread {here!r}, but {owner.name!r} owns the context: only that thread may use it"
            )

    def keep(self, owned: Owned) -> None:
        """Remember what has to be closed before the context is."""
        self._open[id(owned)] = owned

    def forget(self, owned: Owned) -> None:
        """It is closed."""
        self._open.pop(id(owned), None)

    def synchronize(self) -> None:
        """Wait for all that was started in the context.

        Raises:
            GpuError: something that ran there failed.
        """
        self.check_thread()
        with translated("waiting for the GPU"):
            cuda.Context.synchronize()

    def _leave(self) -> None:
        self._entered = 0
        self._owner = None
        try:
            with translated("leaving the context"):
                cuda.Context.pop()
        finally:
            self._give_back()

    def _give_back(self) -> None:
        context, self._context = self._context, None
        if context is None:
            return
        below = _current()
        with translated("giving the context back"):
            context.detach()
        if _current() != below:  # PyCUDA makes a primary context current to release it, and leaves it so
            call("cuCtxPopCurrent")


def _current() -> int:
    """Return the context that is current on this thread, 0 where none is."""
    return int(call("cuCtxGetCurrent"))


_contexts: dict[int, Context] = {}


def primary(ordinal: int = 0) -> Context:
    """Return the process's one context of a GPU, for all engines to enter."""
    return _contexts.setdefault(ordinal, Context(ordinal))


class Owned(ABC):
    """Something in a context that is closed by hand, on the context's thread; safe to close twice.

    A subclass takes its thing first and calls this constructor last, so that what could not be had is never closed.
    """

    def __init__(self, context: Context) -> None:
        self._owner = context
        self._closed = False
        context.keep(self)

    def close(self) -> None:
        """Give it back.

        Raises:
            GpuError: another thread asks, or the driver refuses.
        """
        if self._closed:
            return
        self._owner.check_thread()
        self._closed = True
        self._owner.forget(self)
        self._free()

    @abstractmethod
    def _free(self) -> None:
        """Give back what is held; called once."""
