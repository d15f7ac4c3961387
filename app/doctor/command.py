"""The command `doctor`: every check in turn, a line for each, and an exit code by the worst."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from app.config import LoadedConfig
from app.config.budget import budget_ms
from app.config.secrets import mask, secrets_in
from app.doctor.cameras import check_cameras
from app.doctor.configuration import check_configuration, read_configuration
from app.doctor.echo import check_broker
from app.doctor.line import Level, Line, fail, ok, worst
from app.doctor.machine import machine_checks
from app.doctor.models import check_model
from app.doctor.outbox import check_outbox
from app.errors import TaktsightError

STYLES = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "bold red"}

Check = Callable[[], Iterable[Line]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the doctor is asked to look at.

    Attributes:
        config: None: the machine alone.
        seconds: for each camera to give a picture.
        root: stands for /, for tests.
    """

    config: Path | None
    as_json: bool = False
    seconds: float = 10.0
    root: Path = field(default_factory=lambda: Path("/"))


def doctor(wanted: Wanted, console: Console, errors: Console) -> int:
    """Look at everything, print it, and return the exit code: 0, 1 (a warning) or 2 (something is broken).

    Args:
        wanted: what to look at.
        console: for the report.
        errors: for what is being done.
    """
    loaded, faults = (None, []) if wanted.config is None else read_configuration(wanted.config)
    secrets = secrets_in(loaded.config) if loaded is not None else ()
    lines: list[Line] = []
    for name, check in [("configuration", lambda: faults), *checks(wanted, loaded)]:
        with errors.status(name):
            found = [
                Line(one.level, one.topic, mask(one.text, secrets), mask(one.remedy, secrets))
                for one in carefully(name, check)
            ]
        lines += found
        if not wanted.as_json:
            show(found, console)
    level = worst(lines)
    if wanted.as_json:
        sys.stdout.write(json.dumps(report(lines), ensure_ascii=False, indent=2) + "\n")
    else:
        console.print(_summary(lines), highlight=False)
    return level.exit_code


def carefully(name: str, check: Check) -> list[Line]:
    """Do one check; what it did not foresee is a line, too, and the next one follows."""
    try:
        return list(check())
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError, TaktsightError) as error:
        text = f"this check failed itself ({type(error).__name__}: {' '.join(str(error).split())})"
        return [fail(name, text, "please report this line, with the machine's kind")]


def report(lines: Sequence[Line]) -> dict[str, object]:
    """Return the report as `--json` prints it."""
    level = worst(lines)
    return {
        "worst": level.value,
        "exit_code": level.exit_code,
        "lines": [
            {"level": line.level.value, "topic": line.topic, "text": line.text, "remedy": line.remedy} for line in lines
        ],
    }


def show(lines: Iterable[Line], console: Console) -> None:
    """Print lines for a person, each with its remedy below."""
    for line in lines:
        style = STYLES[line.level]
        console.print(
            f"[{style}]{line.level.value.upper():>4}[/]  [bold]{escape(line.topic)}[/]  {escape(line.text)}",
            highlight=False,
            soft_wrap=True,
        )
        if line.remedy:
            console.print(f"      → {escape(line.remedy)}", highlight=False, soft_wrap=True)


def _summary(lines: Sequence[Line]) -> str:
    count = {level: sum(line.level is level for line in lines) for level in Level}
    return f"{count[Level.OK]} fine, {count[Level.WARN]} to look at, {count[Level.FAIL]} broken"


def checks(wanted: Wanted, loaded: LoadedConfig | None) -> list[tuple[str, Check]]:
    """Return the checks in their order, each with a name for whoever waits."""
    found = machine_checks(wanted.root, loaded)
    if loaded is None:
        return found
    return [("configuration", lambda: check_configuration(loaded)), *found, *line_checks(loaded, wanted.seconds)]


def line_checks(loaded: LoadedConfig, seconds: float) -> list[tuple[str, Check]]:
    """Return the checks of what a configuration names: models, cameras, the broker."""
    found: list[tuple[str, Check]] = [
        (f"model {name}", partial(_one, partial(check_model, name, loaded))) for name in loaded.config.models
    ]
    found.append(("cameras", lambda: check_cameras(loaded, seconds)))
    if loaded.config.mqtt is not None:
        found.append(("outbox", lambda: [check_outbox(loaded.config.outbox)]))
    found.append(("broker", lambda: [_broker(loaded)]))
    return found


def _one(check: Callable[[], Line]) -> list[Line]:
    return [check()]


def _broker(loaded: LoadedConfig) -> Line:
    config = loaded.config
    if config.mqtt is None:
        return ok("broker", "mqtt: null, so there is none")
    shares_ms = [camera.shares.stages_ms(budget_ms(camera.budget_ms))["network"] for camera in config.cameras.values()]
    return check_broker(config.mqtt, config.line, min(shares_ms))
