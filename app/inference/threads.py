"""How many CPUs this process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path

CGROUP_ROOT = Path("/sys/fs/cgroup")


def allowed_cpus() -> int:
    """Return the CPUs that this process may use: its affinity mask, cut down to its control group's quota; 1 at least.

    `os.cpu_count` counts those of the whole machine, which in a limited container or under `taskset` is more than there
    are: the engine's threads then fight over them.
    """
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cgroup_quota(CGROUP_ROOT, Path("/proc/self/cgroup"))
    return max(1, cpus if quota is None else min(cpus, math.ceil(quota)))


def cgroup_quota(root: Path, membership: Path) -> float | None:
    """Return the least CPU quota, in CPUs, of the control groups (version 2) above this process; None without one.

    Args:
        root: where the control groups are mounted.
        membership: the file that names this process's own group, "0::/system.slice/x.service".
    """
    quotas = [quota for group in _groups(root, membership) if (quota := _quota(group / "cpu.max")) is not None]
    return min(quotas, default=None)


def _groups(root: Path, membership: Path) -> list[Path]:
    """Return the folders of this process's group and of all above it, the root included."""
    try:
        lines = membership.read_text(encoding="utf-8").splitlines()
    except OSError:
        return [root]
    own = next((line[3:].strip("/") for line in lines if line.startswith("0::")), "")
    parts = own.split("/") if own else []
    return [root.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]


def _quota(file: Path) -> float | None:
    """Read one `cpu.max`: "max 100000" is no limit, "150000 100000" is 1.5 CPUs."""
    try:
        quota, period = file.read_text(encoding="utf-8").split()
        return int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None
