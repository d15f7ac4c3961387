"""The state of the GPUs now, and their load over the last minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from types import TracebackType

from typing_extensions import Self

from app.latency.gpu import GpuProbe, GpuState

EVERY_S = 1.0
IN_A_MINUTE = 60


class GpuMeter:
    """Reads the GPUs in a steady rhythm; one thread reads, any may look.

    Args:
        probe: what to read; entered and left with the meter. None where there is no GPU.
    """

    def __init__(self, probe: GpuProbe | None) -> None:
        self._probe = probe
        self._minutes: dict[str, deque[float]] = {}
        self.states: Mapping[str, GpuState] = {}
        """As they were read last, by the GPU's number."""

    def __enter__(self) -> Self:
        """Open the driver."""
        if self._probe is not None:
            self._probe.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        if self._probe is not None:
            self._probe.__exit__(kind, error, traceback)

    def read(self) -> None:
        """Read once; to be called every `EVERY_S`."""
        if self._probe is None:
            return
        self.states = self._probe.read()
        for gpu, state in self.states.items():
            if state.percent is not None:
                self._minutes.setdefault(gpu, deque(maxlen=IN_A_MINUTE)).append(state.percent)

    def busiest(self) -> float | None:
        """Return the mean load of the last minute of the GPU that is busiest; None before a minute has passed."""
        full = [minute for minute in self._minutes.values() if len(minute) == IN_A_MINUTE]
        return max((sum(minute) / IN_A_MINUTE for minute in full), default=None)
