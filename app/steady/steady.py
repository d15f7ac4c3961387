"""The inspect thread's surroundings, set up when it begins and put back when it ends."""

from __future__ import annotations

import sys
from types import TracebackType

import cv2
from typing_extensions import Self

from app.config.sections import Process
from app.steady.garbage import Garbage
from app.steady.huge_pages import HALF_FULL, use_huge_pages
from app.steady.place import place_this_thread


class Steady:
    """Entered on the inspect thread, before the engines are: their threads inherit its place.

    Args:
        section: what is asked of interpreter and system.
    """

    def __init__(self, section: Process) -> None:
        self._section = section
        self._garbage = Garbage(section.gc_every_s) if section.gc == "idle" else None
        self._interval_s: float | None = None

    def __enter__(self) -> Self:
        """Set what holds for the whole process, and place this thread."""
        section = self._section
        # The capture threads and the engine share the cores already; see docs/performance.md.
        cv2.setNumThreads(section.opencv_threads)
        if section.switch_interval_ms is not None:
            self._interval_s = sys.getswitchinterval()
            sys.setswitchinterval(section.switch_interval_ms / 1e3)
        place_this_thread(section)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Put the interpreter back; safe to call twice."""
        if self._interval_s is not None:
            sys.setswitchinterval(self._interval_s)
            self._interval_s = None
        if self._garbage is not None:
            self._garbage.end()

    def warm(self) -> None:
        """Say that all is loaded and that frames will follow."""
        if self._section.huge_pages:
            use_huge_pages(least_full=HALF_FULL)
        if self._garbage is not None:
            self._garbage.begin()

    def between(self, *, idle: bool) -> None:
        """Do what must not be done during a frame.

        Args:
            idle: no frame waits.
        """
        if self._garbage is not None:
            self._garbage.between(idle=idle)
