"""The body of the one inspect thread: enters the engines, then takes frame after frame through its pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from threading import Event
from typing import Any

from app.config.sections import Process
from app.pipeline import Pipeline
from app.schedule import Schedule
from app.steady.steady import Steady

POLL_S = 0.1
"""How often a thread that waits for frames looks at its stop event."""


class Inspector:
    """Owns the engines, because all calls to one must come from one thread.

    Args:
        backends: entered on the thread, in order.
        pipelines: by camera.
        on_ready: called on the thread once every engine is loaded and warm.
        steady: keeps the thread's surroundings quiet; entered on it before the engines.
    """

    def __init__(
        self,
        backends: Sequence[AbstractContextManager[Any]],
        pipelines: Mapping[str, Pipeline],
        schedule: Schedule,
        on_ready: Callable[[], None] = lambda: None,
        steady: Steady | None = None,
    ) -> None:
        self._backends = backends
        self._pipelines = pipelines
        self._schedule = schedule
        self._on_ready = on_ready
        self._steady = steady or Steady(Process(gc="python", switch_interval_ms=None))
        self.ready = Event()
        """Set once every engine is loaded and warm."""
        self.turns = 0
        """How often it has looked for a frame; goes on while none comes, and stands still while an engine hangs."""

    def run(self, stop: Event) -> None:
        """Inspect until `stop` is set or every camera has given its last frame."""
        with ExitStack() as stack:
            stack.enter_context(self._steady)
            for backend in self._backends:
                stack.enter_context(backend)
            self._on_ready()
            self._steady.warm()
            self.ready.set()
            self._inspect(stop)

    def _inspect(self, stop: Event) -> None:
        open_cameras = set(self._pipelines)
        while open_cameras and not stop.is_set():
            self.turns += 1
            frame = self._schedule.next(0.0)
            self._steady.between(idle=frame is None)
            frame = frame or self._schedule.next(POLL_S)
            if frame is not None:
                self._pipelines[frame.camera].run(frame)
            for camera in open_cameras & self._schedule.drained():
                self._pipelines[camera].finish()
                open_cameras.discard(camera)
