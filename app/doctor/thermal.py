"""Heat: how far the machine is from where it slows itself down, and whether it does already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.doctor.line import Line, ok, warn
from app.latency.gpu import GpuState
from app.latency.throttle import CpuThrottle, read_numbers, read_text

TOPIC = "thermal"
NEAR_C = 5.0
SLOWING = ("passive", "hot", "critical")
"""Kinds of trip points at which a machine slows down or stops; "active" ones start a fan."""

_REMEDY = "clean or add cooling, lower the room's temperature, or take a lower power mode that it can hold"


@dataclass(frozen=True, slots=True)
class Zone:
    """One sensor.

    Attributes:
        limit_c: the lowest temperature at which it makes the machine slow down; None where it does not tell.
    """

    name: str
    celsius: float
    limit_c: float | None


def zones(root: Path = Path("/")) -> list[Zone]:
    """Return the machine's sensors, the hottest first; those that can't be read are left out.

    Args:
        root: stands for /.
    """
    found = []
    for folder in sorted((root / "sys/class/thermal").glob("thermal_zone[0-9]*")):
        milli = read_numbers([folder / "temp"])
        if milli:
            found.append(Zone(read_text(folder / "type") or folder.name, milli[0] / 1e3, _limit_c(folder)))
    return sorted(found, key=lambda zone: zone.celsius, reverse=True)


def check_thermal(
    root: Path = Path("/"), *, gpus: Mapping[str, GpuState] | None = None, cpu: CpuThrottle | None = None
) -> Line:
    """Say how hot the machine is, and what of it is held back.

    Args:
        root: stands for /.
        gpus: their states, where there are any.
        cpu: made some time ago, so that its counters tell of the time since.
    """
    held = [f"gpu {number}: {', '.join(state.throttle)}" for number, state in (gpus or {}).items() if state.throttle]
    processors = (cpu or CpuThrottle(root / "sys")).look()
    if processors.is_any:
        held.insert(0, f"cpu: {processors}")
    sensors = zones(root)
    text = (
        f"{sensors[0].celsius:.0f} °C at the hottest of {len(sensors)} sensors ({sensors[0].name})" if sensors else ""
    )
    if held:
        said = f"held back now ({'; '.join(held)}){f'; {text}' if text else ''}"
        return warn(TOPIC, said, _REMEDY)
    near = [zone for zone in sensors if zone.limit_c is not None and zone.celsius >= zone.limit_c - NEAR_C]
    if near:
        said = (
            f"{near[0].name} has {near[0].celsius:.0f} °C and slows the machine down from {near[0].limit_c:.0f} °C on"
        )
        return warn(TOPIC, said, _REMEDY)
    return ok(TOPIC, text or "no sensor can be read (a virtual machine)")


def _limit_c(folder: Path) -> float | None:
    limits = []
    for kind in sorted(folder.glob("trip_point_*_type")):
        value = read_numbers([kind.with_name(kind.name.removesuffix("type") + "temp")])
        if read_text(kind) in SLOWING and value and value[0] > 0:  # some boards have trip points at 0 or -273
            limits.append(value[0] / 1e3)
    return min(limits, default=None)
