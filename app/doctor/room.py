"""Room on disks and in memory."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from app.check.files import refusal_to_make
from app.doctor.line import Line, fail, ok, warn
from app.steady.huge_pages import SETTING, setting

LEAST_FREE, FEW_FREE = 100e6, 1e9
FEW_SHARE = 0.05
LEAST_MEMORY_MB = 500


class Usage(NamedTuple):
    """Of a disk, in bytes."""

    total: int
    used: int
    free: int


def check_disk(
    folders: Iterable[Path], usage: Callable[[Path], Usage] = lambda path: Usage(*shutil.disk_usage(path))
) -> list[Line]:
    """Say of every folder that is written to whether it can be, and how much room there is.

    Args:
        folders: may be missing; they are made when they are needed.
        usage: for tests.
    """
    lines = []
    for folder in dict.fromkeys(folders):
        topic = f"disk {folder}"
        refusal = refusal_to_make(folder)
        if refusal:
            text, _, remedy = refusal.partition("; ")
            lines.append(fail(topic, text, remedy))
            continue
        there = next(above for above in (folder, *folder.absolute().parents) if above.exists())
        lines.append(_room(topic, usage(there)))
    return lines


def _room(topic: str, found: Usage) -> Line:
    text = f"{found.free / 1e9:.1f} of {found.total / 1e9:.1f} GB free"
    remedy = "make room, or lower evidence.max_bytes, collect.max_bytes and trace.max_bytes"
    if found.free < LEAST_FREE:
        return fail(topic, text, remedy)
    if found.free < FEW_FREE or found.free < FEW_SHARE * found.total:
        return warn(topic, text, remedy)
    return ok(topic, text)


def check_memory(root: Path = Path("/")) -> Line:
    """Say how much memory is left.

    Args:
        root: stands for /.
    """
    try:
        text = (root / "proc" / "meminfo").read_text(encoding="ascii")
    except OSError as error:
        return warn("memory", f"can't be told ({error.strerror})", "see `free`")
    kib = {name: int(value) for name, value in re.findall(r"^(MemTotal|MemAvailable):\s+(\d+) kB", text, re.MULTILINE)}
    total_mb, left_mb = kib.get("MemTotal", 0) / 1e3, kib.get("MemAvailable", 0) / 1e3
    said = f"{left_mb:,.0f} of {total_mb:,.0f} MB available"
    if left_mb < LEAST_MEMORY_MB:
        return warn("memory", said, "stop other programs, or use a smaller model: a machine that swaps is late")
    return ok("memory", said)


def check_huge_pages(root: Path = Path("/"), *, on_cpu: bool) -> Line:
    """Say whether what a model reads for every picture can lie in huge pages.

    Args:
        root: stands for /.
        on_cpu: a model runs on the processor, or may.
    """
    chosen = setting(root)
    if not chosen:
        return ok("huge pages", "this system has none")
    if chosen != "never":
        return ok("huge pages", f"allowed ({chosen})")
    if not on_cpu:
        return ok("huge pages", "switched off; no model runs on the processor")
    remedy = f"echo madvise | sudo tee /{SETTING}; for good: transparent_hugepage=madvise on the kernel's command line"
    return warn("huge pages", "switched off, so that a model on the processor may take a fifth longer", remedy)
