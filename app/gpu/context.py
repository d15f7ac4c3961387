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
    """One engine's part in the primary context of a GPU: what it has made there, and the thread that may use it.

    It is the primary one because TensorRT and ONNX Runtime use that; things of another context can't be given to them.
    The thread that enters owns it. It may hand it over to another one, which goes on with all that is in it: an engine
    is loaded beside the line and then looks on the line's own thread. Whoever enters it again shares it, on the same
    thread; the last one out closes what is still open in it, newest first.

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
        self._primary = _primaries.setdefault(ordinal, _Primary(ordinal))

    def __enter__(self) -> Self:
        """Retain the context and make it current on this thread.

        Raises:
            GpuError: there is no such GPU, the driver refuses, or another thread owns it.
        """
        if self._entered:
            self.check_thread()
            self._entered += 1
            return self
        self._primary.enter()
        with ExitStack() as undo, translated(f"opening GPU {self.ordinal}"):
            undo.callback(self._primary.leave)
            device = cuda.Device(self.ordinal)
            self.compute_capability = device.compute_capability()
            self.integrated = bool(device.get_attribute(cuda.device_attribute.INTEGRATED))
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

    def hand_over(self) -> None:
        """Own it no more on this thread; until another one takes it over, nobody may use it.

        Raises:
            GpuError: another thread owns it, or something that ran there failed.
        """
        self.synchronize()  # what this thread has begun is done before another one goes on
        self._owner = None
        self._primary.pop()

    def take_over(self) -> None:
        """Own it on this thread from now on, with all that was made in it.

        Raises:
            GpuError: it is not entered, or a thread owns it.
        """
        if not self._entered or self._owner is not None:
            raise GpuError("GPU: the context can't be taken over: its thread has not handed it over")
        self._primary.push()
        self._owner = threading.current_thread()

    def check_thread(self) -> None:
        """Refuse a thread other than the one that owns the context.

        Raises:
            GpuError: it is another one, or none, or the context is not entered.
        """
        owner = self._owner
        if owner is None:
            remedy = "take it over first" if self._entered else "enter it before anything is made in it"
            state = "handed over" if self._entered else "not entered"
            raise GpuError(f"GPU: the context is {state}: {remedy}")
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
        self._primary.leave()


class _Primary:
    """PyCUDA's one object for the primary context of a GPU.

    PyCUDA frees a thing on any thread on which the very object is current that was current when the thing was made. So
    there is one of them for all threads, retained by the first that needs it and given back by the last.
    """

    def __init__(self, ordinal: int) -> None:
        self._ordinal = ordinal
        self._lock = threading.Lock()
        self._users = 0
        self._context: cuda.Context | None = None

    def enter(self) -> None:
        """Count one user more, and make it current on this thread.

        Raises:
            GpuError: there is no such GPU, or the driver refuses.
        """
        with self._lock, translated(f"opening GPU {self._ordinal}"):
            cuda.init()
            below = _current()
            if self._context is None:
                self._context = cuda.Device(self._ordinal).retain_primary_context()
            self._users += 1
            try:
                self._context.push()
            except cuda.Error:
                self._count_out()
                if _current() != below:  # PyCUDA makes it current to give it back, and leaves it so
                    call("cuCtxPopCurrent")
                raise

    def leave(self) -> None:
        """Have current on this thread what was so before, and count one user less; the last one gives it back."""
        with self._lock:
            if self._count_out():
                call("cuCtxPopCurrent")  # PyCUDA has forgotten it, and left it current
            else:
                self.pop()

    def push(self) -> None:
        """Make it current on this thread, which goes on with what another has entered."""
        assert self._context is not None, "entered"
        with translated("taking the context over"):
            self._context.push()

    def pop(self) -> None:
        """Have current on this thread what was so before."""
        with translated("leaving the context"):
            cuda.Context.pop()

    def _count_out(self) -> bool:
        """Count one user less; return whether that was the last one, and it is given back."""
        self._users -= 1
        if self._users:
            return False
        context, self._context = self._context, None
        assert context is not None, "entered"
        # On another thread than that which retained it PyCUDA gives it back only while it is current there.
        with translated("giving the context back"):
            context.detach()
        return True


def _current() -> int:
    """Return the context that is current on this thread, 0 where none is."""
    return int(call("cuCtxGetCurrent"))


_primaries: dict[int, _Primary] = {}


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
