"""Clock speed, GPUs and throttling of this machine as events of the trace file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from app.latency.gpu import GpuState
from app.latency.throttle import SYS, CpuThrottle, read_numbers
from app.latency.trace_file import SystemEvent


class MachineProbe:
    """Reads the same few files each time it is asked.

    A machine that does not have them (a virtual one, say) gives no events and no error.

    Args:
        sys: where /sys is mounted.
        gpus: returns the GPUs' states as they were read last.
    """

    def __init__(self, sys: Path = SYS, gpus: Callable[[], Mapping[str, GpuState]] = dict) -> None:
        cpus = sys / "devices" / "system" / "cpu"
        self._clocks = sorted(cpus.glob("cpu[0-9]*/cpufreq/scaling_cur_freq"))
        self._limits = sorted(cpus.glob("cpu[0-9]*/cpufreq/cpuinfo_max_freq"))
        self._throttle = CpuThrottle(sys)
        self._gpus = gpus
        self._sampled_ns: int | None = None

    def sample(self, now_ns: int) -> list[SystemEvent]:
        """Return the state of the machine since the last call; nothing at the first, which only begins."""
        since_ns, self._sampled_ns = self._sampled_ns, now_ns
        held = self._throttle.look()
        if since_ns is None:
            return []
        gpus = self._gpus()
        events = [*self._clock(since_ns, now_ns), *_gpu_events(gpus, since_ns, now_ns)]
        if held.is_any:
            data = {"devices": list(held.devices), "counted": held.counted, "hottest_c": held.hottest_c}
            events.append(_throttled(str(held), since_ns, now_ns, data))
        for number, state in gpus.items():
            if state.throttle:
                data = {"gpu": number, "reasons": list(state.throttle), "celsius": state.celsius}
                events.append(_throttled(f"gpu {number} ({', '.join(state.throttle)})", since_ns, now_ns, data))
        return events

    def _clock(self, since_ns: int, now_ns: int) -> list[SystemEvent]:
        khz, limits = read_numbers(self._clocks), read_numbers(self._limits)
        if not khz:
            return []
        mhz = sum(khz) / len(khz) / 1e3
        data = {"mhz": round(mhz), "max_mhz": round(max(limits, default=0) / 1e3)}
        return [SystemEvent(kind="clock", text=f"{mhz:.0f} MHz", began_ns=since_ns, ended_ns=now_ns, data=data)]


def _gpu_events(gpus: Mapping[str, GpuState], since_ns: int, now_ns: int) -> list[SystemEvent]:
    return [
        SystemEvent(
            kind="gpu",
            text=f"gpu {number}: {state}",
            began_ns=since_ns,
            ended_ns=now_ns,
            data={"gpu": number, **asdict(state)},
        )
        for number, state in gpus.items()
    ]


def _throttled(who: str, since_ns: int, now_ns: int, data: dict[str, object]) -> SystemEvent:
    return SystemEvent(kind="throttle", text=f"slowed down: {who}", began_ns=since_ns, ended_ns=now_ns, data=data)
