"""The load of the GPUs now, and over the last minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from types import TracebackType

from typing_extensions import Self

from app.latency.gpu import GpuLoad

EVERY_S = 5.0
IN_A_MINUTE = 12


class GpuMeter:
    """Reads the load in a steady rhythm; one thread reads, any may look.

    Args:
        load: what to read; entered and left with the meter. None where there is no GPU.
    """

    def __init__(self, load: GpuLoad | None) -> None:
        self._load = load
        self._minutes: dict[str, deque[float]] = {}
        self.percent: Mapping[str, float] = {}
        """As it was read last, by the GPU's number."""

    def __enter__(self) -> Self:
        """Open the driver."""
        if self._load is not None:
            self._load.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        if self._load is not None:
            self._load.__exit__(kind, error, traceback)

    def read(self) -> None:
        """Read once; to be called every `EVERY_S`."""
        if self._load is None:
            return
        self.percent = self._load.percent()
        for gpu, percent in self.percent.items():
            self._minutes.setdefault(gpu, deque(maxlen=IN_A_MINUTE)).append(percent)

    def busiest(self) -> float | None:
        """Return the mean load of the last minute of the GPU that is busiest; None before a minute has passed."""
        full = [minute for minute in self._minutes.values() if len(minute) == IN_A_MINUTE]
        return max((sum(minute) / IN_A_MINUTE for minute in full), default=None)
