"""The body of the one inspect thread: enters the engines, then takes frame after frame through its pipeline."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import AbstractContextManager, ExitStack
from queue import SimpleQueue
from threading import Event
from time import monotonic_ns
from typing import Any, TypeVar

from app.config.sections import Process
from app.engine import Engine
from app.errors import TaktsightError
from app.frame import Frame
from app.microbatch import AFTER_NS, CAUTION, MicroBatches
from app.pipeline import Pipeline, Seen
from app.schedule import Lane, Schedule
from app.steady.lull import Lull
from app.steady.steady import Steady

T = TypeVar("T")

POLL_S = 0.1
"""How often a thread that waits for frames looks at its stop event."""

PUBLISH_S = 0.003
"""A verdict has so long to go out before anything else is begun that wants Python's lock or a core."""

CHANGE_S = 5.0
"""How long whoever wants something changed between two frames waits for it."""


class Inspector:
    """Owns the engines, because all calls to one must come from one thread.

    Args:
        backends: entered on the thread, in order.
        pipelines: by camera; changed on the inspect thread only.
        on_ready: called on the thread once every engine is loaded and warm.
        steady: keeps the thread's surroundings quiet; entered on it before the engines.
        lull: told when threads of low priority are in nobody's way.
        max_wait_ms: how long a picture may wait for others to share a call with.
        on_call: told of every call: the engine and how many pictures it looked at; must not wait.
        on_idle: called while no frame waits, with what tells for how many nanoseconds the thread may be away.
    """

    def __init__(
        self,
        backends: Sequence[AbstractContextManager[Any]],
        pipelines: MutableMapping[str, Pipeline],
        schedule: Schedule,
        on_ready: Callable[[], None] = lambda: None,
        steady: Steady | None = None,
        lull: Lull | None = None,
        max_wait_ms: float = 0.0,
        on_call: Callable[[Engine, int], None] = lambda *_: None,
        on_idle: Callable[[Callable[[], float]], None] = lambda _: None,
    ) -> None:
        self._backends = backends
        self._held: list[AbstractContextManager[Any]] = []
        self._pipelines = pipelines
        self._schedule = schedule
        self._on_ready = on_ready
        self._steady = steady or Steady(Process(gc="python", switch_interval_ms=None))
        self._lull = lull or Lull()
        self.ready = Event()
        """Set once every engine is loaded and warm."""
        self._max_wait_ms = max_wait_ms
        self._on_call = on_call
        self._on_idle = on_idle
        self._calls: dict[int, MicroBatches] = {}
        self._open = set(pipelines)
        self._successors: dict[str, Callable[[], None]] = {}
        self._asked: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.turns = 0
        """How often it has looked for a frame; goes on while none comes, and stands still while an engine hangs."""

    def run(self, stop: Event) -> None:
        """Inspect until `stop` is set or every camera has given its last frame."""
        with ExitStack() as stack:
            stack.enter_context(self._steady)
            stack.callback(self._leave)
            stack.callback(self._lull.begin)
            for backend in self._backends:
                self.hold(backend)
                backend.__enter__()
            self._on_ready()
            self._steady.warm()
            self.ready.set()
            self._inspect(stop)

    def between_frames(self, change: Callable[[], T], timeout_s: float = CHANGE_S) -> T:
        """Have something done on the inspect thread between two frames, and return what it returns.

        Raises:
            TaktsightError: the thread does not come to it in time: an engine hangs.
            Exception: what `change` raises.
        """
        done: Future[T] = Future()

        def do() -> None:
            if not done.set_running_or_notify_cancel():
                return
            try:
                done.set_result(change())
            except Exception as error:  # handed to whoever asked; the inspection goes on
                done.set_exception(error)

        self._asked.put(do)
        try:
            return done.result(timeout_s)
        except FutureTimeout as error:
            done.cancel()
            raise TaktsightError(f"nothing can be changed: an engine has hung for {timeout_s:g} s") from error

    # What follows is called on the inspect thread, by way of `between_frames`.

    def hold(self, backend: AbstractContextManager[Any]) -> None:
        """Leave a backend at the end, or when it is released; entered by whoever calls."""
        self._held.append(backend)

    def release(self, backend: AbstractContextManager[Any]) -> None:
        """Leave a backend that nobody uses any more; one that was never entered is none of ours."""
        if backend not in self._held:
            return
        self._held.remove(backend)
        self._calls.clear()  # whose keys are those of engines
        backend.__exit__(None, None, None)

    def open(self, camera: str, pipeline: Pipeline, lane: Lane) -> None:
        """Inspect a camera's frames from now on."""
        self._pipelines[camera] = pipeline
        self._schedule.put(camera, lane)
        self._open.add(camera)

    def after(self, camera: str, successor: Callable[[], None]) -> None:
        """Have something done once a camera has given its last frame and that is judged."""
        self._successors[camera] = successor

    def close(self, camera: str) -> None:
        """Forget a camera that has given its last frame."""
        self._schedule.remove(camera)
        self._open.discard(camera)

    def _inspect(self, stop: Event) -> None:
        while self._open and not stop.is_set():
            self.turns += 1
            while not self._asked.empty():
                self._asked.get()()
            frame = self._schedule.next(PUBLISH_S)
            self._steady.between(idle=frame is None)
            if frame is None:
                self._lull.begin()
                self._on_idle(self._spare_ns)
            frame = frame or self._schedule.next(POLL_S)
            if frame is not None:
                self._lull.end()
                self._look(frame)
            for camera in self._open & self._schedule.drained():
                self._end(camera)

    def _look(self, frame: Frame) -> None:
        """Take a frame through its pipeline, and others along in the same call of the engine where they fit."""
        pipeline = self._pipelines[frame.camera]
        seen = pipeline.begin(frame)
        if seen is None:
            return
        known = pipeline.known(seen)
        if known is not None:
            pipeline.see(seen, known, reused=True)
            return
        alone: list[Seen] = []
        together = [seen] if seen.engine.most == 1 else self._gather(seen, alone)
        self._see(together)
        for one in alone:
            self._see([one])

    def _gather(self, first: Seen, alone: list[Seen]) -> list[Seen]:
        """Return a frame with those that share its call; `alone` gets those that turn out to need another engine."""
        engine, together = first.engine, [first]
        calls = self._calls_of(engine)
        cameras = {name for name, pipeline in self._pipelines.items() if pipeline.engine is engine}
        deadline_ns = self._schedule.deadline_ns(first.frame)
        while len(together) < engine.most and calls.fits(len(together) + 1, deadline_ns):
            # Once one of each camera is there, whoever waits would wait for a picture that is not exposed yet.
            wait_ns = calls.wait_ns(len(together), deadline_ns) if len(together) < len(cameras) else 0
            frame = self._schedule.also(cameras, wait_ns)
            if frame is None:
                break
            seen = self._pipelines[frame.camera].begin(frame)
            if seen is not None:
                (together if seen.engine is engine else alone).append(seen)
                deadline_ns = min(deadline_ns, self._schedule.deadline_ns(frame))
        return together

    def _see(self, together: list[Seen]) -> None:
        engine = together[0].engine
        looks = [self._pipelines[seen.frame.camera].look(seen) for seen in together]
        began_ns = monotonic_ns()
        found = engine.look(looks)
        ended_ns = monotonic_ns()
        self._calls_of(engine).took(len(looks), began_ns, ended_ns)
        self._on_call(engine, len(looks))
        for seen, one in zip(together, found, strict=True):
            self._pipelines[seen.frame.camera].see(seen, one)

    def _spare_ns(self) -> float:
        """How long the thread may be away without a frame being late, though every camera's came in the first moment.

        A quarter of the tightest budget is left to what comes before and after the engine.
        """
        engines = [self._pipelines[camera].engine for camera in self._open]
        busy_ns = sum(CAUTION * self._calls_of(engine).call_ns(1) for engine in engines)
        return 0.75 * self._schedule.least_budget_ns() - busy_ns - AFTER_NS

    def _calls_of(self, engine: Engine) -> MicroBatches:
        key = id(engine)
        if key not in self._calls:
            self._calls[key] = MicroBatches(self._max_wait_ms)
        return self._calls[key]

    def _leave(self) -> None:
        """Leave every backend, the last one first."""
        while self._held:
            self._held.pop().__exit__(None, None, None)

    def _end(self, camera: str) -> None:
        """Judge what a camera's gate still holds; go on with its successor, where there is one."""
        self._pipelines[camera].finish()
        successor = self._successors.pop(camera, None)
        if successor is None:
            self._open.discard(camera)
        else:
            successor()
