"""What is asked of the system: CPUs for the inspect thread that there are."""

from __future__ import annotations

import os
import re
from pathlib import Path

from app.check.finding import Report
from app.config.sections import Process

ONLINE = Path("/sys/devices/system/cpu/online")
_KEY = ("process", "inspect_cpus")


def check_process(section: Process, report: Report) -> None:
    """Check the section."""
    if section.inspect_cpus is None:
        return
    asked, there = set(section.inspect_cpus), online_cpus()
    missing = sorted(asked - there)
    if missing:
        text = f"this machine has no CPU {_listed(missing)} (or it is off); of {_listed(sorted(there))} choose which"
        report.error(text, *_KEY)
    closed = sorted((asked & there) - os.sched_getaffinity(0))
    if closed:
        text = f"CPU {_listed(closed)} may not be used from here; the service may be allowed to: see CPUAffinity there"
        report.warning(text, *_KEY)


def online_cpus(file: Path = ONLINE) -> set[int]:
    """Return the numbers of the CPUs that run now; a board switches some of them off to save power.

    Args:
        file: of the kernel, e.g. "0-3,6".
    """
    try:
        text = file.read_text(encoding="ascii")
    except OSError:
        return set(range(os.cpu_count() or 1))
    found: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def _listed(numbers: list[int]) -> str:
    """Return numbers as the kernel writes them: 0-3, 6."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)
