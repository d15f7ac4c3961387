"""Where results wait until the broker has them: whether that place will keep them."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

from app.check.files import refusal_to_make
from app.config.outbox import AUTO
from app.config.sections import Outbox
from app.doctor.file_system import IN_MEMORY, REMOTE, kind_of
from app.doctor.line import Line, fail, ok, warn
from app.doctor.room import LEAST_FREE, Usage
from app.publish.store import Now, Store
from app.wiring.keeper import outbox_file

TOPIC = "outbox"
LOG_SHARE = 2.0
"""Its write-ahead log may grow as large as the file itself before it is taken over."""
ELSEWHERE = "set outbox.path to a file on a disk of this machine (ext4, xfs)"


def check_outbox(
    section: Outbox,
    usage: Callable[[Path], Usage] = lambda path: Usage(*shutil.disk_usage(path)),
    kind: Callable[[Path], str] = kind_of,
) -> Line:
    """Say whether results can wait where the configuration says, by making such a file there and removing it.

    Args:
        section: where they wait.
        usage: of a disk, for tests.
        kind: of a file system, for tests.
    """
    path = outbox_file(section)
    if path is None:
        return _in_memory(section)
    refusal = refusal_to_make(path.parent) or _refusal_to_write(path)
    if refusal:
        text, _, remedy = refusal.rpartition("; ")
        return fail(TOPIC, f"{text}: results would wait in memory alone, and be gone with the process", remedy)
    there = next(above for above in path.absolute().parents if above.exists())
    fault = try_to_keep(there)
    if fault:
        return fail(TOPIC, f"{path}: this file system does not take it ({fault})", ELSEWHERE)
    weak = _weakness(kind(there))
    if weak:
        return warn(TOPIC, f"{path}: {weak}", ELSEWHERE)
    return _room(path, section, usage(there))


def _weakness(kind: str) -> str | None:
    """Say what a file system does not keep that takes everything."""
    if kind in REMOTE:
        return f"it is on another machine ({kind}), which may be away when the broker is, and keeps no lock for sure"
    if kind in IN_MEMORY:
        return f"it is in memory ({kind}): what waits is gone with the power"
    return None


def _in_memory(section: Outbox) -> Line:
    if section.path == AUTO:
        return ok(TOPIC, "in memory here; under systemd in the service's state directory")
    return warn(
        TOPIC,
        "in memory: what waits for the broker is gone with the process",
        "set outbox.path to auto, or to a file",
    )


def _refusal_to_write(path: Path) -> str | None:
    """Return why a file that is there can't be the outbox's."""
    if path.is_dir():
        return f"{path}: it is a folder; name a file in it"
    try:
        if path.exists():
            with path.open("r+b"):
                return None
    except OSError as error:
        return f"{path}: {error.strerror}; chown or chmod it, or name another"
    return None


def try_to_keep(folder: Path) -> str | None:
    """Keep a message in a file as the outbox does, read it again and remove it; return what went wrong."""
    try:
        with tempfile.TemporaryDirectory(prefix=".taktsight-doctor-", dir=folder) as name:
            return _try(Path(name) / "outbox.sqlite")
    except (OSError, sqlite3.Error) as error:
        return str(error)


def _try(path: Path) -> str | None:
    store = Store(path, "normal")
    try:
        store.open(Now(1, 1))
        store.probe()
        store.sync()
    except FileNotFoundError:  # of the log: SQLite does without where it can't have one, and says nothing
        return "SQLite can't have its write-ahead log on it"
    finally:
        store.close()
    return None


def _room(path: Path, section: Outbox, found: Usage) -> Line:
    used = path.stat().st_size if path.exists() else 0
    may_need = max(LOG_SHARE * section.max_bytes - used, 0.0)
    text = f"{path}: {found.free / 1e6:,.0f} MB free, may need {may_need / 1e6:,.0f}"
    remedy = "make room, or lower outbox.max_bytes"
    if found.free < LEAST_FREE:
        return fail(TOPIC, text, remedy)
    if found.free < may_need:
        return warn(TOPIC, text, remedy)
    return ok(TOPIC, text)
