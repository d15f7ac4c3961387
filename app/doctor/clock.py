"""Whether the wall clock follows a time server; results carry it as a label."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

from app.doctor.line import Line, ok, warn

TOPIC = "clock"
MAX_ERROR_MS = 100.0
UNSYNCHRONISED = 0x0040  # STA_UNSYNC
_TIME_ERROR = 5


class _Timex(ctypes.Structure):
    """The head of the kernel's `struct timex`; the rest is room."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("room", ctypes.c_long * 32),
    )


@dataclass(frozen=True, slots=True)
class Sync:
    """What the kernel knows of its clock.

    Attributes:
        max_error_ms: how far it may be off, by the kernel's own reckoning.
    """

    is_synchronised: bool
    max_error_ms: float


def read_sync() -> Sync:
    """Ask the kernel; changes nothing.

    Raises:
        OSError: it does not answer (a sandbox that forbids the call).
    """
    timex = _Timex(modes=0)
    state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex))
    if state < 0:
        number = ctypes.get_errno()
        raise OSError(number, "the kernel's clock can't be asked")
    is_synchronised = state != _TIME_ERROR and not timex.status & UNSYNCHRONISED
    return Sync(is_synchronised, timex.maxerror / 1e3)


def check_clock(read: Callable[[], Sync] = read_sync) -> Line:
    """Say whether the clock is synchronised."""
    try:
        sync = read()
    except OSError as error:
        return warn(TOPIC, f"{error.strerror}", "see `timedatectl`, outside of a sandbox")
    remedy = "sudo timedatectl set-ntp true, or install chrony and name a time server that this machine reaches"
    if not sync.is_synchronised:
        text = "not synchronised: the UTC in results may be wrong and may jump; durations don't come from it"
        return warn(TOPIC, text, remedy)
    if sync.max_error_ms > MAX_ERROR_MS:
        return warn(TOPIC, f"synchronised, but it may be {sync.max_error_ms:.0f} ms off", remedy)
    return ok(TOPIC, f"synchronised, at most {sync.max_error_ms:.1f} ms off")
