"""Clock speed and thermal throttling of this machine, read from /sys where the kernel tells them."""

from __future__ import annotations

import re
from pathlib import Path

from app.latency.trace_file import SystemEvent

SYS = Path("/sys")
SLOWS_DOWN = re.compile(r"cpufreq|devfreq|processor|cpu|gpu", re.IGNORECASE)
"""Types of cooling devices that cool by slowing down; a fan that turns is no throttle."""


class MachineProbe:
    """Reads the same few files each time it is asked.

    A machine that does not have them (a virtual one, say) gives no events and no error.

    Args:
        sys: where /sys is mounted.
    """

    def __init__(self, sys: Path = SYS) -> None:
        cpus = sys / "devices" / "system" / "cpu"
        thermal = sys / "class" / "thermal"
        self._clocks = sorted(cpus.glob("cpu[0-9]*/cpufreq/scaling_cur_freq"))
        self._limits = sorted(cpus.glob("cpu[0-9]*/cpufreq/cpuinfo_max_freq"))
        self._counters = sorted(cpus.glob("cpu[0-9]*/thermal_throttle/*_throttle_count"))
        self._coolers = {
            path: name
            for path in sorted(thermal.glob("cooling_device*/cur_state"))
            if SLOWS_DOWN.search(name := _text(path.with_name("type")))
        }
        self._zones = sorted(thermal.glob("thermal_zone*/temp"))
        self._throttles = _numbers(self._counters)
        self._sampled_ns: int | None = None

    def sample(self, now_ns: int) -> list[SystemEvent]:
        """Return the state of the machine since the last call; nothing at the first, which only begins."""
        since_ns, self._sampled_ns = self._sampled_ns, now_ns
        throttles, self._throttles = self._throttles, _numbers(self._counters)
        if since_ns is None:
            return []
        return [*self._clock(since_ns, now_ns), *self._throttle(since_ns, now_ns, sum(throttles))]

    def _clock(self, since_ns: int, now_ns: int) -> list[SystemEvent]:
        khz, limits = _numbers(self._clocks), _numbers(self._limits)
        if not khz:
            return []
        mhz = sum(khz) / len(khz) / 1e3
        data = {"mhz": round(mhz), "max_mhz": round(max(limits, default=0) / 1e3)}
        return [SystemEvent(kind="clock", text=f"{mhz:.0f} MHz", began_ns=since_ns, ended_ns=now_ns, data=data)]

    def _throttle(self, since_ns: int, now_ns: int, before: int) -> list[SystemEvent]:
        held = [name for path, name in self._coolers.items() if sum(_numbers([path])) > 0]
        counted = sum(self._throttles) - before
        if not held and counted <= 0:
            return []
        hottest = max((milli / 1e3 for milli in _numbers(self._zones)), default=None)
        data = {"devices": held, "counted": max(counted, 0), "hottest_c": hottest}
        who = ", ".join(held) or f"{counted} throttle counts"
        return [SystemEvent(kind="throttle", text=f"slowed down: {who}", began_ns=since_ns, ended_ns=now_ns, data=data)]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # a sensor may be there and refuse to be read
        return ""


def _numbers(paths: list[Path]) -> list[int]:
    texts = [_text(path) for path in paths]
    return [int(text) for text in texts if re.fullmatch(r"-?\d+", text)]
