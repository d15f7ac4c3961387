"""`taktsight plan`: from words on the command line to a table or JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from app.errors import ConfigError
from app.plan.capacity import Aim, Group, Plan, assumptions, plan
from app.plan.figures import engine_times, frame_time

WORDS = re.compile(r"(?P<cameras>\d+)[x×](?P<fps>\d+(?:\.\d+)?)[x×](?P<model>.+)")


def make_plan(words: Sequence[str], aim: Aim, frame: Path | None, seconds: float, progress: Console) -> Plan:
    """Read or measure what is named, and plan.

    Args:
        words: one for each group, as `8x30xparts.json`.
        aim: what the plan has to hold.
        frame: a file of `taktsight bench --json`, whose time of a frame replaces the aim's.
        seconds: to measure each batch of a model that has no file of figures.
        progress: gets what is said meanwhile.

    Raises:
        ConfigError: a word can't be read, or there is no such plan.
        ModelError: a model can't be measured.
    """
    if frame is not None:
        aim = replace(aim, host_ms=frame_time(frame))
    return plan([_group(word, seconds, progress) for word in words], aim)


def _group(word: str, seconds: float, progress: Console) -> Group:
    found = WORDS.fullmatch(word)
    if found is None:
        raise ConfigError(f"{word}: must be CAMERASxFPSxFILE, as 8x30xparts.json")
    path = Path(found["model"])
    return Group(int(found["cameras"]), float(found["fps"]), path.name, engine_times(path, progress, seconds))


def as_json(made: Plan) -> dict[str, Any]:
    """Return everything that the table says, and what it stands on."""
    return {
        "aim": asdict(made.aim),
        "groups": [asdict(share) for share in made.shares],
        "devices": [{"cameras": cameras, "busy": busy} for cameras, busy in zip(made.devices, made.busy, strict=True)],
        "carry_the_load": len(made.devices),
        "spares": made.aim.spares,
        "devices_needed": made.needed,
        "busy_with_all_devices": made.spread_busy,
        "assumptions": assumptions(made.aim),
    }


def show_plan(made: Plan, console: Console) -> None:
    """Print what each group takes, where it goes, the sum, and what was taken for granted."""
    groups = Table("cameras", "fps", "model", "batch", "ms a frame", "worst ms", "of a device, each", "on one device")
    for share in made.shares:
        group = share.group
        groups.add_row(
            *(str(group.cameras), f"{group.fps:g}", group.model, str(share.batch), f"{share.frame_ms:.2f}"),
            *(f"{share.worst_ms:.1f}", f"{share.load:.1%}", str(share.per_device)),
        )
    console.print(groups)
    devices = Table("device", *(share.group.model for share in made.shares), "busy")
    for number, (cameras, busy) in enumerate(zip(made.devices, made.busy, strict=True), 1):
        devices.add_row(str(number), *map(str, cameras), f"{busy:.0%}")
    console.print(devices)
    console.print(
        f"{len(made.devices)} carry the load, {made.aim.spares} may fail: {made.needed} devices, each busy "
        f"{made.spread_busy:.0%} of its time while all are there and share evenly.",
        highlight=False,
        soft_wrap=True,
    )
    for text in assumptions(made.aim):
        console.print(f"· {text}", highlight=False, soft_wrap=True)
