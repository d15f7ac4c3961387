"""What is watched all the time: every camera's p99, the load of the GPU, how full the batches are."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from app.config.sections import Alerts
from app.latency.alert import Alert, Limit
from app.latency.batches import Batches
from app.latency.gpu_meter import GpuMeter
from app.latency.minute import LONGEST_WINDOW_S
from app.latency.recorder import TOTAL, Recorder

LEAST_RESULTS = 20
"""A p99 of fewer results in a minute says nothing."""

Tell = Callable[[str, str, dict[str, Any]], None]
"""Takes the camera (empty for the line), a line for a person, and data."""


class Alarms:
    """Looks at the values and tells what has changed; one thread looks.

    Args:
        section: the limits.
        p99_ms: of those cameras that are watched, in milliseconds.
        tell: must not wait.
        clock: monotonic, in nanoseconds.

    Attributes:
        alerts: by camera (empty for the whole line) and the key of the limit.
    """

    def __init__(
        self,
        section: Alerts,
        p99_ms: Mapping[str, float],
        *,
        recorder: Recorder,
        gpu: GpuMeter,
        batches: Batches,
        tell: Tell,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._recorder = recorder
        self._gpu = gpu
        self._batches = batches
        self._tell = tell
        self._clock = clock
        self.alerts: dict[tuple[str, str], Alert] = {}
        self.configure(section, p99_ms)

    def configure(self, section: Alerts, p99_ms: Mapping[str, float]) -> None:
        """Watch for these limits from now on; an alert whose limit stays keeps its state. Arguments as above."""
        limits = {(camera, "p99_ms"): Limit(limit_ms) for camera, limit_ms in p99_ms.items()}
        limits["", "gpu_percent"] = Limit(section.gpu_percent)
        limits["", "batch_percent"] = Limit(section.batch_percent, is_least=True)
        known = self.alerts
        # In one step, because another thread may be looking.
        self.alerts = {
            key: known[key] if key in known and known[key].limit == limit else Alert(limit)
            for key, limit in limits.items()
        }

    def look(self) -> None:
        """Look at everything once."""
        totals = {row.camera: row.percentiles for row in self._recorder.window(LONGEST_WINDOW_S, TOTAL)}
        for camera, total in totals.items():
            if (camera, "p99_ms") in self.alerts and total.count >= LEAST_RESULTS:
                what = f"p99 of the last minute's {total.count} results is {total.p99:.1f} ms"
                self._see(camera, "p99_ms", total.p99, what)
        busiest = self._gpu.busiest()
        if busiest is not None:
            self._see("", "gpu_percent", busiest, f"the GPU's load over the last minute is {busiest:.0f} %")
        for model, percent in sorted(self._batches.percent.items(), key=lambda item: item[1])[:1]:
            what = f"{percent:.0f} % of the places in the batches of {model} had a picture in the last minute"
            self._see("", "batch_percent", percent, what)

    def _see(self, camera: str, name: str, value: float, what: str) -> None:
        alert = self.alerts.get((camera, name))
        if alert is None:
            return
        change = alert.see(value, self._clock())
        if change is None:
            return
        bound = "at least" if alert.limit.is_least else "at most"
        text = f"{what}, {bound} {alert.limit.value:g} wanted" if alert.is_raised else f"{what} again"
        self._tell(camera, text, {"alert": name, "state": change.value, "value": value, "limit": alert.limit.value})
