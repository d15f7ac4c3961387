"""The service, where it is installed: whether systemd runs it, and whether it has given up."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable

from app.doctor.line import Line, fail, ok, warn

UNIT = "taktsight.service"
TOPIC = "service"
ASK_S = 5.0
MANY = 3

_PROPERTIES = ("LoadState", "ActiveState", "SubState", "Result", "NRestarts", "UnitFileState", "StatusText")


def ask_systemd(unit: str = UNIT) -> str:
    """Return what systemd says of a unit; empty where there is no systemd, or it does not answer."""
    systemctl = shutil.which("systemctl")
    if systemctl is None:
        return ""
    command = [systemctl, "show", unit, f"--property={','.join(_PROPERTIES)}"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=ASK_S, check=False)  # noqa: S603 - a fixed command
    except subprocess.TimeoutExpired:
        return ""
    return said.stdout


def check_unit(ask: Callable[[], str] = ask_systemd) -> Line:
    """Say how the service is."""
    found = dict(line.split("=", 1) for line in ask().splitlines() if "=" in line)
    if found.get("LoadState", "not-found") != "loaded":
        return ok(TOPIC, "not installed as a service on this machine")
    state, result, restarts = found.get("ActiveState", ""), found.get("Result", ""), int(found.get("NRestarts") or 0)
    said = f"{state} ({found.get('SubState', '')})"
    if status := found.get("StatusText"):
        said += f": {status}"
    if result == "start-limit-hit":
        remedy = f"see `journalctl -u {UNIT}`, mend the cause, then sudo systemctl reset-failed {UNIT} and start it"
        return fail(TOPIC, f"{said}; systemd has given up after too many starts", remedy)
    if state == "failed":
        return fail(TOPIC, f"{said}; it ended with {result}", f"see `journalctl -u {UNIT} -b`, then start it again")
    if restarts >= MANY:
        return warn(TOPIC, f"{said}; started again {restarts} times", f"see `journalctl -u {UNIT} -b` for why")
    if found.get("UnitFileState") == "disabled":
        return warn(TOPIC, f"{said}; it will not start at boot", f"sudo systemctl enable {UNIT}")
    return ok(TOPIC, said)
