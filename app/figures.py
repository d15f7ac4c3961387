"""What was measured, as messages: one camera's latencies over three windows, and its slowest subscribers."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable, Mapping
from itertools import count

from app.latency.gpu import GpuState
from app.latency.percentiles import Percentiles
from app.latency.presentation import Presentation, SubscriberRow
from app.latency.recorder import Recorder, Row, Tally
from app.publish.clock import UtcClock, iso_utc
from app.publish.message import Latency
from app.publish.spread import Gpu, Spread, Subscriber, Window

WINDOWS_S = (10, 60)
SLOWEST = 5
"""Subscribers that a message names."""


class Figures:
    """Makes the messages of one line.

    Args:
        line: its name as configured.
        budgets_ms: by camera; read each time.
        clock: labels the messages.
        previews: the watchers' answers, where there are previews.
        gpus: returns the GPUs' states as they were read last.
        throttled: returns what holds the machine back.
    """

    def __init__(
        self,
        line: str,
        budgets_ms: Mapping[str, float],
        recorder: Recorder,
        presentation: Presentation,
        clock: UtcClock,
        previews: Presentation | None = None,
        gpus: Callable[[], Mapping[str, GpuState]] = dict,
        throttled: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self._line = line
        self._budgets_ms = budgets_ms
        self._recorder = recorder
        self._presentation = presentation
        self._clock = clock
        self._previews = previews or Presentation()
        self._gpus = gpus
        self._throttled = throttled
        self._run = uuid.uuid4().hex[:12]
        self._numbers = count(1)

    def messages(self) -> list[Latency]:
        """Return every camera's message as things stand now."""
        rows: dict[int | None, Iterable[Row]] = {seconds: self._recorder.window(seconds) for seconds in WINDOWS_S}
        summary = self._recorder.summary()
        rows[None] = summary.rows
        return [
            self._message(camera, _windows(camera, rows), summary.tallies.get(camera, Tally(0, 0)))
            for camera in tuple(self._budgets_ms)
        ]

    def _message(self, camera: str, windows: list[Window], tally: Tally) -> Latency:
        budget = self._recorder.budget_counts()
        subscribers = self._presentation.rows(camera)
        at = self._clock.now()
        return Latency(
            id=f"{self._run}.{next(self._numbers)}",
            line=self._line,
            camera=camera,
            utc=iso_utc(at.utc_ns),
            clock=at.note,
            budget_ms=self._budgets_ms[camera],
            frames=tally.frames,
            misses=tally.misses,
            level=budget.levels.get(camera, ""),
            breaches={stage: times for (name, stage), times in budget.breaches.items() if name == camera},
            windows=windows,
            subscribers=[_subscriber(row) for row in subscribers[:SLOWEST]],
            others=len(subscribers[SLOWEST:]),
            previews=[_subscriber(row) for row in self._previews.rows(camera)],
            gpus={number: _gpu(state) for number, state in self._gpus().items()},
            throttle=list(self._throttled()),
        )


def _windows(camera: str, rows: Mapping[int | None, Iterable[Row]]) -> list[Window]:
    return [
        Window(
            seconds=seconds,
            stages={row.column: spread_of(row.percentiles, row.exact) for row in found if row.camera == camera},
        )
        for seconds, found in rows.items()
    ]


def _subscriber(row: SubscriberRow) -> Subscriber:
    network, hold = spread_of(row.network, row.exact), spread_of(row.hold, row.exact)
    return Subscriber(client=row.client, network=network, hold=hold, mostly=row.mostly, per_s=round(row.per_s, 1))


def _gpu(state: GpuState) -> Gpu:
    numbers = {name: _rounded(getattr(state, name)) for name in ("used_mb", "total_mb", "mhz", "max_mhz", "celsius")}
    return Gpu(percent=_rounded(state.percent), throttle=list(state.throttle), **numbers)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def spread_of(found: Percentiles, exact: bool) -> Spread:
    """Return percentiles as they are published: microseconds are enough, and what is over the limit is null."""
    times = {name: _number(getattr(found, name)) for name in ("p50", "p90", "p99", "p999", "max")}
    return Spread(count=found.count, exact=exact, **times)


def _number(value_ms: float) -> float | None:
    return round(value_ms, 3) if math.isfinite(value_ms) else None
