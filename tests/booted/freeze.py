"""Stops one thread of a process and leaves the others running, as a call into a driver does that never returns."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
ALL_THREADS = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def _ptrace(request: int, thread: int) -> None:
    if _LIBC.ptrace(request, thread, None, None) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@contextmanager
def frozen(pid: int, name: str) -> Iterator[None]:
    """Hold the thread of that name while the block runs; see ptrace(2)."""
    thread = next(
        int(task.name) for task in Path(f"/proc/{pid}/task").iterdir() if (task / "comm").read_text().strip() == name
    )
    _ptrace(SEIZE, thread)
    try:
        _ptrace(INTERRUPT, thread)
        yield
    finally:
        with suppress(ProcessLookupError):  # it was killed meanwhile, which is what the tests are about
            _ptrace(DETACH, thread)
        with suppress(ChildProcessError):  # it stays, and its process with it, until whoever traced it has looked
            os.waitpid(thread, ALL_THREADS | os.WNOHANG)
