"""What the process takes of its machine, and what the machine has left."""

from __future__ import annotations

import os
import re
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Vitals:
    """Read at one moment; None where this machine does not tell.

    Attributes:
        rss_bytes: memory that the process holds.
        files: open file descriptors.
        threads: of Python.
        disk_free_bytes: what is left where the service writes; the least where it writes to several disks.
        hottest_c: the hottest sensor in degrees Celsius.
    """

    rss_bytes: int | None
    files: int | None
    threads: int
    disk_free_bytes: int | None
    hottest_c: float | None


def vitals(folders: list[Path], root: Path = Path("/")) -> Vitals:
    """Look now.

    Args:
        folders: where the service writes; one that is not there yet counts as its nearest parent.
        root: where /proc and /sys are found.
    """
    return Vitals(
        rss_bytes=_rss_bytes(root / "proc/self/statm"),
        files=_files(root / "proc/self/fd"),
        threads=threading.active_count(),
        disk_free_bytes=min((free for folder in folders if (free := _free_bytes(folder)) is not None), default=None),
        hottest_c=_hottest_c(root / "sys/class/thermal"),
    )


def _rss_bytes(statm: Path) -> int | None:
    """Return the resident set; its second field counts pages, see proc_pid_statm(5)."""
    try:
        return int(statm.read_text(encoding="ascii").split()[1]) * PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return None


def _files(folder: Path) -> int | None:
    try:
        return sum(1 for _ in folder.iterdir()) - 1  # the listing itself takes one
    except OSError:
        return None


def _free_bytes(folder: Path) -> int | None:
    there = next((place for place in (folder, *folder.absolute().parents) if place.exists()), None)
    try:
        return None if there is None else shutil.disk_usage(there).free
    except OSError:
        return None


def _hottest_c(thermal: Path) -> float | None:
    readings = [_text(zone) for zone in sorted(thermal.glob("thermal_zone*/temp"))]
    return max((int(text) / 1e3 for text in readings if re.fullmatch(r"-?\d+", text)), default=None)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # a sensor may be there and refuse to be read
        return ""
