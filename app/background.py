"""A thread that can wait goes after all others."""

from __future__ import annotations

import os
from contextlib import suppress
from threading import get_native_id

NICENESS = 10
"""Not the lowest there is: such a thread may hold Python's lock while another program has its core."""


def step_back() -> None:
    """Put the calling thread behind all others, also where the whole service was started in the real-time class."""
    with suppress(OSError):  # from the class IDLE there is no way back, and none is needed
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.setpriority(os.PRIO_PROCESS, get_native_id(), NICENESS)  # Linux: of this thread alone
