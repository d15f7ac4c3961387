"""A named thread with one owner, who starts it, learns how it ended, and waits for it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread, current_thread, get_native_id
from threading import enumerate as running_threads
from time import monotonic

logger = logging.getLogger(__name__)


PATIENCE_S = 0.5
LONGEST_NAME = 15
"""Bytes that the kernel keeps of a thread's name."""


def name_this_thread(name: str) -> None:
    """Tell the kernel the thread's name, so that `top -H` and a debugger show it; Python does so itself from 3.14."""
    with suppress(OSError):  # where /proc is not there, nobody looks
        Path(f"/proc/self/task/{get_native_id()}/comm").write_bytes(name.encode()[:LONGEST_NAME])


def left_behind(patience_s: float = PATIENCE_S) -> list[str]:
    """Return the names of threads that the end of the process would wait for, after waiting for them so long."""
    others = [thread for thread in running_threads() if not thread.daemon and thread is not current_thread()]
    until_s = monotonic() + patience_s
    for thread in others:
        thread.join(max(0.0, until_s - monotonic()))
    return [thread.name for thread in others if thread.is_alive()]


class Worker:
    """Runs one function in a thread of its own until that returns or `stop` is set.

    Args:
        name: the thread's name.
        body: gets the stop event, returns soon after it is set.
        on_end: called on the thread as the last thing, with the error that ended it or None.
    """

    def __init__(
        self, name: str, body: Callable[[Event], None], on_end: Callable[[BaseException | None], None]
    ) -> None:
        self.name = name
        self._body = body
        self._on_end = on_end
        self._stop = Event()
        self._thread = Thread(target=self._run, name=name, daemon=False)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Set the stop event without waiting."""
        self._stop.set()

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread to end; return whether it has (a thread that was never started has)."""
        if self._thread.ident is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        error: BaseException | None = None
        name_this_thread(self.name)
        try:
            self._body(self._stop)
        except BaseException as caught:  # the thread's root: its owner decides, even where a library wants to exit
            error = caught
        self._on_end(error)
