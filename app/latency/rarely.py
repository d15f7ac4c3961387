"""Lets one of many lines through each second, and counts the others."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

EVERY_NS = 1_000_000_000


class Rarely:
    """A valve for log lines that come in swarms; thread-safe.

    Args:
        write: takes a line.
        now_ns: the clock, for tests.
    """

    def __init__(self, write: Callable[[str], object], now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._write = write
        self._now_ns = now_ns
        self._lock = Lock()
        self._next_ns: int | None = None
        self._held_back = 0

    def __call__(self, text: str) -> None:
        """Write the line, and how many were held back since the last one, or hold it back."""
        with self._lock:
            now_ns = self._now_ns()
            if self._next_ns is not None and now_ns < self._next_ns:
                self._held_back += 1
                return
            self._next_ns = now_ns + EVERY_NS
            held_back, self._held_back = self._held_back, 0
        self._write(f"{text} (and {held_back} more)" if held_back else text)
