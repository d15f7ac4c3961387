"""Keeps the C library from spreading memory over an arena for every thread, where what is freed stays and adds up."""

from __future__ import annotations

import ctypes

M_ARENA_MAX = -8
"""Of glibc's malloc.h."""
ARENAS = 2
"""Few threads allocate at one time: Python lets one run. Measured in docs/reliability.md."""


def few_arenas() -> bool:
    """Ask for two arenas, before threads are started; return whether the C library heeds it (glibc alone knows)."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(M_ARENA_MAX, ARENAS) == 1
