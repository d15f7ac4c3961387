"""The arithmetic: cameras × frames a second × time a frame → devices. Pure; its rules stand in `assumptions`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.building.batch_advice import Measured
from app.errors import ConfigError

_EXACT = 1e-9  # 3 × 0.2 is no more than 0.6


@dataclass(frozen=True, slots=True)
class Group:
    """Cameras that are alike.

    Attributes:
        cameras: how many.
        fps: of each of them.
        model: its name.
        engine: how long its batches take on one device, the smallest first.
    """

    cameras: int
    fps: float
    model: str
    engine: tuple[Measured, ...]

    def __post_init__(self) -> None:
        if self.cameras < 1 or self.fps <= 0 or not self.engine:
            raise ConfigError(
                f"{self.cameras}x{self.fps:g}x{self.model}: must be 1 camera and more than 0 fps at least"
            )


@dataclass(frozen=True, slots=True)
class Aim:
    """What a plan has to hold.

    Attributes:
        busy: share of its time that a device may work.
        budget_ms: from a picture's hand-over to its results, waiting for others included.
        host_ms: what a frame takes beside the engine, on the same thread.
        spares: devices that may fail.
    """

    busy: float = 0.6
    budget_ms: float = 100.0
    host_ms: float = 2.0
    spares: int = 1


@dataclass(frozen=True, slots=True)
class Share:
    """What one camera of a group takes of a device.

    Attributes:
        batch: pictures in one call.
        frame_ms: of a device's time for one frame.
        worst_ms: a frame waits for its batch, for the call before, and for its own, at the 99th percentile.
        load: share of a device's time for one camera.
        per_device: cameras on a device that has no others; 0 where not one is carried.
    """

    group: Group
    batch: int
    frame_ms: float
    worst_ms: float
    load: float
    per_device: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What is needed.

    Attributes:
        aim: what it holds.
        shares: one for each group.
        devices: the cameras of each group on each device, spares not among them.
        busy: share of its time that each device works.
    """

    aim: Aim
    shares: tuple[Share, ...]
    devices: tuple[tuple[int, ...], ...] = field(default=())
    busy: tuple[float, ...] = ()

    @property
    def needed(self) -> int:
        """Devices to buy: those that carry the load, and the spares."""
        return len(self.devices) + self.aim.spares

    @property
    def spread_busy(self) -> float:
        """Share of its time that each device works while all of them are there and the load is spread evenly."""
        return sum(self.busy) / self.needed if self.needed else 0.0


def plan(groups: Sequence[Group], aim: Aim) -> Plan:
    """Put every camera on a device, the heaviest first, each where it still fits.

    Raises:
        ConfigError: one camera alone is more than a device carries, or no batch is in time.
    """
    shares = tuple(_share(group, aim) for group in groups)
    devices: list[list[int]] = []
    busy: list[float] = []
    for index in sorted(range(len(shares)), key=lambda index: -shares[index].load):
        for _ in range(shares[index].group.cameras):
            load = shares[index].load
            place = next((at for at, used in enumerate(busy) if used + load <= aim.busy + _EXACT), len(devices))
            if place == len(devices):
                devices.append([0] * len(shares))
                busy.append(0.0)
            devices[place][index] += 1
            busy[place] += load
    return Plan(aim, shares, tuple(tuple(device) for device in devices), tuple(busy))


def _share(group: Group, aim: Aim) -> Share:
    """Return what one camera takes, with the batch that costs least and is in time."""
    shares = [_with_batch(group, measured, aim) for measured in group.engine]
    carried = [share for share in shares if share.per_device]
    if not carried:
        least = min(shares, key=lambda share: share.load)
        raise ConfigError(
            f"{group.model}: one camera at {group.fps:g} fps takes {least.load:.0%} of a device "
            f"({least.frame_ms:.1f} ms a frame), {aim.busy:.0%} are allowed: take a faster device, a smaller model, "
            "or fewer frames a second"
        )
    in_time = [share for share in carried if share.worst_ms <= aim.budget_ms]
    if not in_time:
        least = min(carried, key=lambda share: share.worst_ms)
        raise ConfigError(
            f"{group.model}: takes {least.worst_ms:.1f} ms in the worst case, the budget is {aim.budget_ms:g} ms: "
            "take a faster device, a smaller model, or a larger --budget"
        )
    return min(in_time, key=lambda share: share.frame_ms)


def _with_batch(group: Group, measured: Measured, aim: Aim) -> Share:
    frame_ms = measured.p50_ms / measured.batch + aim.host_ms
    load = frame_ms * group.fps / 1000
    fits = math.floor(aim.busy / load + _EXACT)
    together = max(min(fits, group.cameras), 1)
    fill_ms = (measured.batch - 1) / (together * group.fps) * 1000
    worst_ms = fill_ms + 2 * measured.p99_ms + measured.batch * aim.host_ms
    return Share(group, measured.batch, frame_ms, worst_ms, load, fits)


def assumptions(aim: Aim) -> tuple[str, ...]:
    """Return what the plan takes for granted, one sentence each."""
    return (
        "Every device is like the one that was measured, as warm, and runs nothing else.",
        f"A device works {aim.busy:.0%} of its time at most: above that waiting lines grow at every hitch.",
        f"A frame takes {aim.host_ms:g} ms beside the engine (letterbox, decode, judge, message), one after the other "
        "with it; second looks, evidence pictures and previews are not in that.",
        f"A frame has {aim.budget_ms:g} ms from its hand-over: it waits for its batch to fill, for the call before, "
        "and for its own, both at the 99th percentile; where a device has fewer cameras, a batch is not waited for.",
        "Cameras send at their rate without bursts, and one camera is looked at by one device.",
        f"{aim.spares} device{'' if aim.spares == 1 else 's'} more than the load needs, so that as many may fail; "
        "moving the cameras over is not counted.",
        "Network, disk and broker are not what is scarce: `taktsight bench` and `taktsight latency` measure those.",
    )
