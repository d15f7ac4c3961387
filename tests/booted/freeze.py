"""Stops one thread of a process and leaves the others running, as a call into a driver does that never returns."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
ALL_THREADS = 0x40000000
DYING_S = 20.0
"""From the signal that ends a process to the end of its last thread; it may write a core file in between."""
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
        _bury(thread)


def _bury(thread: int) -> None:
    """Look at the end of a thread that dies: until whoever traced it has done so, its process does not end either."""
    until_s = time.monotonic() + DYING_S
    with suppress(ChildProcessError):  # it goes on, and is traced by nobody
        while time.monotonic() < until_s:
            found, status = os.waitpid(thread, ALL_THREADS | os.WNOHANG)
            if found and not os.WIFSTOPPED(status):  # a stop may be told of first
                return
            time.sleep(0.01)
