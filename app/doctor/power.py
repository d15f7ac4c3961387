"""Clocks: the power mode of a Jetson, `jetson_clocks`, and the governor of the processors."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from app.doctor.line import Line, ok, warn
from app.latency.throttle import read_numbers, read_text

MODE, CLOCKS, GOVERNOR = "power mode", "jetson_clocks", "governor"

STEADY = "performance"


def is_jetson(root: Path = Path("/")) -> bool:
    """Whether this is a Jetson board.

    Args:
        root: stands for /.
    """
    model = read_text(root / "proc" / "device-tree" / "model")
    return (root / "etc" / "nv_tegra_release").exists() or "jetson" in model.lower()


def check_power(root: Path = Path("/")) -> list[Line]:
    """Say whether the clocks are as high and as steady as they can be.

    Args:
        root: stands for /.
    """
    jetson = [_mode(root), _jetson_clocks(root)] if is_jetson(root) else []
    return [*jetson, _governor(root, is_board=bool(jetson))]


def power_mode(root: Path = Path("/")) -> tuple[int, str] | None:
    """Return the number and name of a Jetson's power mode; None where it can't be told."""
    number = re.search(r"pmode:(\d+)", read_text(root / "var" / "lib" / "nvpmodel" / "status"))
    if number is None:
        return None
    return int(number[1]), _modes(root).get(int(number[1]), "")


def _modes(root: Path) -> dict[int, str]:
    """Return the names of the board's modes by number."""
    said = read_text(root / "etc" / "nvpmodel.conf")
    return {int(number): name for number, name in re.findall(r"<\s*POWER_MODEL\s+ID=(\d+)\s+NAME=(\S+)\s*>", said)}


def _mode(root: Path) -> Line:
    found, modes = power_mode(root), _modes(root)
    if found is None:
        return warn(MODE, "can't be told: there is no /var/lib/nvpmodel/status", "see `sudo nvpmodel -q`")
    number, name = found
    text = f"{name or 'without a name'} ({number})"
    best = next((mode for mode, known in modes.items() if known.startswith("MAXN")), None)
    if best is None or best == number:
        return ok(MODE, text)
    remedy = f"where supply and cooling allow it: sudo nvpmodel -m {best} ({modes[best]})"
    return warn(MODE, f"{text} holds the clocks down", remedy)


def _jetson_clocks(root: Path) -> Line:
    """Tell by the clocks' lower bounds: `jetson_clocks` puts each of them up to the upper one."""
    bounds = []
    for folder in sorted((root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq")):
        bounds.append((folder / "scaling_min_freq", folder / "scaling_max_freq"))
    for folder in sorted((root / "sys/class/devfreq").glob("*g[pav]*")):
        bounds.append((folder / "min_freq", folder / "max_freq"))
    pairs = [found for pair in bounds if len(found := read_numbers(list(pair))) == 2]  # noqa: PLR2004 - both of a pair
    if not pairs:
        return warn(CLOCKS, "can't be told: no clock's bounds can be read", "see `sudo jetson_clocks --show`")
    loose = sum(least < most for least, most in pairs)
    if loose == 0:
        return ok(CLOCKS, f"on: all {len(pairs)} clocks stay at their upper bound")
    remedy = "sudo jetson_clocks, at each start: a unit of its own, or ExecStartPre=+/usr/bin/jetson_clocks"
    return warn(CLOCKS, f"off: {loose} of {len(pairs)} clocks sink while nothing is to be done", remedy)


def _governor(root: Path, *, is_board: bool) -> Line:
    files = sorted((root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    found = Counter(filter(None, map(read_text, files)))
    if not found:
        return ok(GOVERNOR, "the kernel does not govern the processors' clocks (a virtual machine, or fixed clocks)")
    text = ", ".join(f"{name} on {count} CPUs" for name, count in found.most_common())
    if set(found) == {STEADY}:
        return ok(GOVERNOR, text)
    remedy = "sudo cpupower frequency-set -g performance, at each start"
    if is_board:
        remedy = "sudo jetson_clocks holds the clocks up whatever the governor"
    return warn(GOVERNOR, f"{text}: the first frame after a pause finds slow clocks", remedy)
