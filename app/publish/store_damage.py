"""A damaged file of the outbox: read what can be read, and put it aside under a name that tells when."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from app.publish.clock import iso_utc
from app.publish.store import Row

KEPT = 3
"""Damaged files that are kept; the oldest go, so that a dying disk is not filled as well."""
ENDINGS = ("", "-wal", "-shm")


def is_damage(error: Exception) -> bool:
    """Whether SQLite says that the file itself is wrong, not that it can't be written or read now."""
    return type(error) is sqlite3.DatabaseError


def salvage(path: Path) -> list[Row]:
    """Return the rows of a damaged file that can be read: from the front, then from the end."""
    rows: dict[int, Row] = {}
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=0)) as db:
        for order in ("ASC", "DESC"):
            with suppress(sqlite3.Error, TypeError, ValueError):
                _read_on(db, order, rows)
    return [rows[number] for number in sorted(rows)]


def _read_on(db: sqlite3.Connection, order: str, rows: dict[int, Row]) -> None:
    """Read until it fails, or until what was read before."""
    query = f"SELECT n, kind, put_ns, utc_ns, message FROM parcel ORDER BY n {order}"  # noqa: S608 - ASC or DESC
    for found in db.execute(query):
        row = Row(*found)
        if row.number in rows or not isinstance(row.message, bytes):
            return
        rows[row.number] = row


def put_aside(path: Path, utc_ns: int) -> Path:
    """Rename a file with what belongs to it, and return its new name.

    Raises:
        OSError: it can't be renamed.
    """
    stamp = iso_utc(utc_ns).replace("-", "").replace(":", "").replace(".", "")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    for ending in ENDINGS:
        with suppress(FileNotFoundError):
            Path(f"{path}{ending}").rename(f"{aside}{ending}")
    others = sorted(one for one in path.parent.glob(f"{path.name}.damaged-*") if not one.name.endswith(ENDINGS[1:]))
    for old in others[:-KEPT]:
        for ending in ENDINGS:
            Path(f"{old}{ending}").unlink(missing_ok=True)
    return aside
