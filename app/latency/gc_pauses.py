"""Hears of every garbage collection and keeps the long ones."""

from __future__ import annotations

import gc
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from typing_extensions import Self

from app.latency.trace_file import SystemEvent

MIN_NS = 200_000
"""Shorter pauses are not kept: there are hundreds a second, and none makes a frame late."""
MAX_KEPT = 1024


class GcPauses:
    """Collects pauses while it is entered.

    Python calls it in whatever thread happens to collect, maybe in the middle of any other code of ours: it takes no
    lock, because that thread may hold it.

    Args:
        now_ns: the clock, `time.monotonic_ns`.
        min_ns: the shortest pause to keep.
    """

    def __init__(self, now_ns: Callable[[], int] = time.monotonic_ns, min_ns: int = MIN_NS) -> None:
        self._now_ns = now_ns
        self._min_ns = min_ns
        self._began_ns: int | None = None
        self._kept: deque[SystemEvent] = deque(maxlen=MAX_KEPT)

    def __enter__(self) -> Self:
        """Start to listen."""
        gc.callbacks.append(self.heard)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop to listen; safe to call twice."""
        if self.heard in gc.callbacks:
            gc.callbacks.remove(self.heard)

    def heard(self, phase: str, info: Mapping[str, Any]) -> None:
        """Take one call of `gc.callbacks`: collections don't nest, so one beginning is all there is to remember."""
        now_ns = self._now_ns()
        if phase == "start":
            self._began_ns = now_ns
            return
        began_ns, self._began_ns = self._began_ns, None
        if began_ns is None or now_ns - began_ns < self._min_ns:
            return
        data = {"generation": info.get("generation", -1), "thread": threading.current_thread().name}
        self._kept.append(
            SystemEvent(
                kind="gc",
                text=f"garbage collection of generation {data['generation']} in {data['thread']}",
                began_ns=began_ns,
                ended_ns=now_ns,
                data=data,
            )
        )

    def drain(self) -> list[SystemEvent]:
        """Return what was kept since the last call, oldest first."""
        drained: list[SystemEvent] = []
        while self._kept:
            drained.append(self._kept.popleft())
        return drained
