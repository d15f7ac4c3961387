"""The state of the GPUs, and the seam of what reads it."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from typing_extensions import Self


@dataclass(frozen=True, slots=True)
class GpuState:
    """One GPU now; None for what can't be read.

    Attributes:
        percent: of the last moments in which something ran on it, 0 … 100.
        used_mb, total_mb: its memory in 10⁶ bytes; on a Jetson that of the whole board, which the GPU shares.
        mhz, max_mhz: its clock, and the highest one that is allowed now.
        celsius: its temperature.
        throttle: what holds its clock back, in fixed words: "thermal", "power_cap", "power_brake", "hardware",
            "board_limit", "reliability", "over_current"; empty where nothing does.
    """

    percent: float | None = None
    used_mb: float | None = None
    total_mb: float | None = None
    mhz: float | None = None
    max_mhz: float | None = None
    celsius: float | None = None
    throttle: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return what is known as one line for a person."""
        known = (
            None if self.percent is None else f"{self.percent:.0f} % busy",
            None if self.mhz is None else f"{self.mhz:.0f} MHz",
            None if self.celsius is None else f"{self.celsius:.0f} °C",
            f"held back: {', '.join(self.throttle)}" if self.throttle else None,
        )
        return ", ".join(filter(None, known)) or "nothing can be read"


class GpuProbe(Protocol):
    """Reads the state of this machine's GPUs. Constructing is free; entering opens the driver."""

    def __enter__(self) -> Self:
        """Open it."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it; safe to call twice."""
        ...

    def read(self) -> dict[str, GpuState]:
        """Return the state of each GPU by its number."""
        ...
