"""The file that keeps messages until the broker has them: SQLite, write-ahead log, one owner."""

from __future__ import annotations

import itertools
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

Sync: TypeAlias = Literal["full", "normal", "off"]

VERSION = 1
ROW_BYTES = 64
"""What a row takes beside its message."""
CHUNK = 500
"""Numbers in one statement; SQLite takes 999 in its oldest versions."""
PROBE_BYTES = 1 << 17
VACUUM_PAGES = 2048
"""An empty file of more pages gives its room back to the disk."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PLAUSIBLE_NS = 1_700_000_000 * 1_000_000_000
"""A wall clock that shows an earlier time was never set."""

SCHEMA = f"""
CREATE TABLE IF NOT EXISTS parcel (
  n INTEGER PRIMARY KEY, kind TEXT NOT NULL, put_ns INTEGER NOT NULL, utc_ns INTEGER NOT NULL, message BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
PRAGMA user_version = {VERSION};
"""


class Row(NamedTuple):
    """One message as it lies on disk.

    Attributes:
        number: its place in the order, unique in the file.
        kind: the verdict's word, or "event".
        put_ns: when it was handed over, on `time.monotonic_ns` of the boot that the file was last opened in.
        utc_ns: the same by the wall clock; used where the machine was booted since.
        message: MessagePack.
    """

    number: int
    kind: str
    put_ns: int
    utc_ns: int
    message: bytes


class Now(NamedTuple):
    """This moment by both clocks, in nanoseconds."""

    monotonic_ns: int
    utc_ns: int


class Store:
    """One open file. Every method may raise `sqlite3.Error` or `OSError`; not safe to call from two threads at a time.

    Args:
        path: of the file; its folder is made where it is missing.
        sync: full: each `write` is on the medium when it returns. normal: after `sync`. off: when the system likes;
            a power cut may leave a damaged file behind.
    """

    def __init__(self, path: Path, sync: Sync) -> None:
        self._path = path
        self._sync = sync
        self._db: sqlite3.Connection | None = None
        self._log: int | None = None
        self.count = 0
        self.bytes = 0
        self.last = 0
        """The highest number in the file when it was opened."""

    def open(self, now: Now) -> None:
        """Open the file, making it where there is none.

        Raises:
            sqlite3.DatabaseError: it is no such file, is damaged, or is of another version.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(self._path, timeout=0, isolation_level=None, check_same_thread=False)
        # Exclusive: a second service is refused at once, and no memory is shared through another file.
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute(f"PRAGMA synchronous = {self._sync.upper()}")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError(f"schema {version}, not {VERSION}")
        self._db.executescript(SCHEMA)
        self._rebase(now)
        self._count()

    def close(self) -> None:
        """Close the file; safe to call twice, and after a failure."""
        if self._log is not None:
            os.close(self._log)
            self._log = None
        if self._db is not None:
            self._db.close()
            self._db = None

    # ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def write(self, rows: Sequence[Row], gone: Sequence[int]) -> None:
        """Add rows and take others out, all or nothing; what is there already, or not, is passed over."""
        db = self._open
        with db:
            db.execute("BEGIN IMMEDIATE")
            before = db.total_changes
            db.executemany("INSERT OR IGNORE INTO parcel VALUES (?, ?, ?, ?, ?)", rows)
            added = db.total_changes - before
            lost = [self._delete(gone[at : at + CHUNK]) for at in range(0, len(gone), CHUNK)]
        if added != len(rows):
            self._count()
            return
        self.count += added - sum(count for count, _ in lost)
        self.bytes += sum(len(row.message) + ROW_BYTES for row in rows) - sum(size for _, size in lost)

    def probe(self) -> None:
        """Write something that is not small, and take it out again: raises where there is no room."""
        self.write([Row(0, "probe", 0, 0, bytes(PROBE_BYTES))], [])
        self.write([], [0])

    def above(self, number: int, limit: int) -> list[Row]:
        """Return the rows after a number, in order."""
        return self._rows("n > ? ORDER BY n LIMIT ?", number, limit)

    def since(self, put_ns: int, limit: int) -> list[Row]:
        """Return the newest rows that were not put before a moment, in order."""
        return self._rows("put_ns >= ? ORDER BY n DESC LIMIT ?", put_ns, limit)[::-1]

    def before(self, put_ns: int, limit: int) -> list[Row]:
        """Return the first rows, in order, as far as they were put before a moment."""
        rows = self._rows("1 ORDER BY n LIMIT ?", limit)
        return list(itertools.takewhile(lambda row: row.put_ns < put_ns, rows))

    def of_kind(self, kind: str, above: int, limit: int) -> list[Row]:
        """Return the rows of one kind after a number, in order."""
        return self._rows("n > ? AND kind = ? ORDER BY n LIMIT ?", above, kind, limit)

    def sync(self) -> None:
        """Have all that was written on the medium."""
        if self._log is None:
            self._log = os.open(f"{self._path}-wal", os.O_RDONLY | os.O_CLOEXEC)
        os.fsync(self._log)

    def shrink(self) -> None:
        """Give the room of an empty file back to the disk."""
        db = self._open
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        if self.count == 0 and pages > VACUUM_PAGES:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            raise sqlite3.OperationalError(f"{self._path} is not open")
        return self._db

    def _rows(self, where: str, *values: int | str) -> list[Row]:
        # `where` is one of the texts above, never a value.
        query = f"SELECT n, kind, put_ns, utc_ns, message FROM parcel WHERE {where}"  # noqa: S608
        return [Row(*row) for row in self._open.execute(query, values)]

    def _delete(self, numbers: Sequence[int]) -> tuple[int, int]:
        """Take rows out; return how many there were, and their bytes."""
        places = ",".join("?" * len(numbers))
        found = f"SELECT count(*), coalesce(sum(length(message)), 0) FROM parcel WHERE n IN ({places})"  # noqa: S608 - question marks
        count, size = self._open.execute(found, numbers).fetchone()
        self._open.execute(f"DELETE FROM parcel WHERE n IN ({places})", numbers)  # noqa: S608 - question marks
        return count, size + ROW_BYTES * count

    def _count(self) -> None:
        query = "SELECT count(*), coalesce(sum(length(message)), 0), coalesce(max(n), 0) FROM parcel"
        self.count, size, self.last = self._open.execute(query).fetchone()
        self.bytes = size + ROW_BYTES * self.count

    def _rebase(self, now: Now) -> None:
        """Have all times on this boot's clock; a wall clock that was never set tells nothing of what lies between."""
        db, boot = self._open, BOOT_ID.read_text(encoding="ascii").strip()
        known = db.execute("SELECT value FROM about WHERE key = 'boot'").fetchone()
        if known is not None and known[0] == boot:
            return
        with db:
            db.execute("BEGIN IMMEDIATE")
            db.execute(
                "UPDATE parcel SET put_ns = ? - CASE WHEN utc_ns > ? THEN max(0, ? - utc_ns) ELSE 0 END",
                (now.monotonic_ns, PLAUSIBLE_NS, now.utc_ns),
            )
            db.execute("INSERT OR REPLACE INTO about VALUES ('boot', ?)", (boot,))
