"""What holds this machine's clocks back now: heat and currents, of processors and GPUs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.latency.gpu import GpuState

SYS = Path("/sys")
SLOWS_DOWN = re.compile(r"cpufreq|devfreq|processor|cpu|gpu", re.IGNORECASE)
"""Types of cooling devices that cool by slowing down; a fan that turns is no throttle."""

HOLD_NS = 5_000_000_000
"""How long a throttle that is over is still named: the queue that it made takes a while to go."""


@dataclass(frozen=True, slots=True)
class Held:
    """What slows the processors down.

    Attributes:
        devices: cooling devices at work.
        counted: how often the processor says that it throttled, since the last look.
        hottest_c: the hottest sensor of the machine.
    """

    devices: tuple[str, ...]
    counted: int
    hottest_c: float | None

    @property
    def is_any(self) -> bool:
        """Whether something does."""
        return bool(self.devices) or self.counted > 0

    def __str__(self) -> str:
        """Say who, and how hot it is."""
        who = ", ".join(self.devices) or f"{self.counted} throttle counts"
        return who if self.hottest_c is None else f"{who} at {self.hottest_c:.0f} °C"


class CpuThrottle:
    """Reads the same few files each time it is asked; a machine without them is never held back.

    Args:
        sys: where /sys is mounted.
    """

    def __init__(self, sys: Path = SYS) -> None:
        thermal = sys / "class" / "thermal"
        cpus = sys / "devices" / "system" / "cpu"
        self._counters = sorted(cpus.glob("cpu[0-9]*/thermal_throttle/*_throttle_count"))
        self._coolers = {
            path: name
            for path in sorted(thermal.glob("cooling_device*/cur_state"))
            if SLOWS_DOWN.search(name := read_text(path.with_name("type")))
        }
        self._zones = sorted(thermal.glob("thermal_zone*/temp"))
        self._counts = sum(read_numbers(self._counters))

    def look(self) -> Held:
        """Return what holds the processors back now, or did since the last look."""
        before, self._counts = self._counts, sum(read_numbers(self._counters))
        devices = tuple(name for path, name in self._coolers.items() if sum(read_numbers([path])) > 0)
        hottest_c = max((milli / 1e3 for milli in read_numbers(self._zones)), default=None)
        return Held(devices, max(self._counts - before, 0), hottest_c)


class Throttle:
    """Remembers for a while what held the machine back; one thread looks, any may ask.

    Args:
        cpu: the processors.
        gpus: returns the GPUs' states as they were read last.
        clock: monotonic, in nanoseconds.
    """

    def __init__(
        self,
        cpu: CpuThrottle,
        gpus: Callable[[], Mapping[str, GpuState]],
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._cpu = cpu
        self._gpus = gpus
        self._clock = clock
        self._seen: dict[str, tuple[str, int]] = {}

    def look(self) -> None:
        """Look once; to be called every second or so."""
        now_ns = self._clock()
        found = {f"gpu {number}": ", ".join(state.throttle) for number, state in self._gpus().items() if state.throttle}
        held = self._cpu.look()
        if held.is_any:
            found["cpu"] = str(held)
        kept = {part: seen for part, seen in self._seen.items() if now_ns - seen[1] < HOLD_NS}
        # Put there whole, so that whoever asks meanwhile sees the one or the other.
        self._seen = {**kept, **{part: (why, now_ns) for part, why in found.items()}}

    def reasons(self) -> tuple[str, ...]:
        """Return what holds the machine back, or did a moment ago, e.g. "gpu 0: thermal"; empty where nothing did."""
        return tuple(f"{part}: {why}" for part, (why, _) in sorted(self._seen.items()))

    def parts(self) -> Mapping[str, bool]:
        """Return whether each part is held back: "cpu", and each GPU."""
        names = ("cpu", *(f"gpu {number}" for number in self._gpus()))
        return {name: name in self._seen for name in names}


def read_text(path: Path) -> str:
    """Return what a file of the kernel says; empty where it refuses to be read, as some sensors do."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def read_numbers(paths: list[Path]) -> list[int]:
    """Return the whole numbers that such files hold; what is none is left out."""
    texts = [read_text(path) for path in paths]
    return [int(text) for text in texts if re.fullmatch(r"-?\d+", text)]
