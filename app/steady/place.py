"""Where and how urgently a thread runs; what the system does not allow is one warning with the remedy."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence

from app.config.sections import Process

logger = logging.getLogger(__name__)


def place_this_thread(section: Process) -> None:
    """Give the calling thread its CPUs, niceness and scheduling class; threads that it starts later inherit them.

    On Linux each of these calls is about the thread, not the process, where it says 0.
    """
    faults: list[str] = []
    if section.inspect_cpus is not None:
        cpus = section.inspect_cpus
        _try(faults, f"inspect_cpus {cpus}", _cpus_remedy(cpus), lambda: os.sched_setaffinity(0, cpus))
    if section.inspect_nice is not None:
        nice = section.inspect_nice
        remedy = "add LimitNICE=-20 or AmbientCapabilities=CAP_SYS_NICE to the unit, or remove the key"
        _try(faults, f"inspect_nice {nice}", remedy, lambda: os.setpriority(os.PRIO_PROCESS, 0, nice))
    if section.inspect_realtime is not None:
        priority = section.inspect_realtime
        remedy = "add LimitRTPRIO=99 or AmbientCapabilities=CAP_SYS_NICE to the unit, or remove the key"
        _try(faults, f"inspect_realtime {priority}", remedy, lambda: _realtime(priority))
    if faults:
        logger.warning("process: not as asked, going on without: %s", "; ".join(faults))


def _try(faults: list[str], what: str, remedy: str, call: Callable[[], None]) -> None:
    try:
        call()
    except OSError as error:
        faults.append(f"{what}: {error.strerror}; {remedy}")


def _realtime(priority: int) -> None:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


def _cpus_remedy(asked: Sequence[int]) -> str:
    allowed = sorted(os.sched_getaffinity(0))
    missing = sorted(set(asked) - set(allowed))
    return f"of these, this service may not use {missing}; it may use {allowed}"
