"""Keeps on disk what waits for the broker, from a thread of its own: nobody who puts or sends one waits for it."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.publish.backlog import Backlog
from app.publish.parcels import Parcel
from app.publish.store import Now, Row, Store, Sync
from app.publish.store_bounds import Bounds, Surplus
from app.publish.store_damage import is_damage, put_aside, salvage
from app.publish.store_ring import Ring
from app.publish.store_rows import parcel_of, row_of

logger = logging.getLogger(__name__)

LINGER_NS = 10_000_000
"""What the broker has sooner is never written, where a ring keeps it until then."""
TIDY_NS = 500_000_000
"""Rows of delivered messages are taken out so often, unless others are written anyway."""
SYNC_NS = 1_000_000_000
LOOK_NS = 5_000_000_000
"""Between two looks for what is too old, and two tries to open a file that can't be used."""
REVIVED = 1000
"""Messages of the run before that are read at once at the start, since they are still live."""
STOP_S = 2.0


@dataclass(frozen=True, slots=True)
class KeeperHooks:
    """What a keeper needs of the lane whose messages it keeps.

    Attributes:
        lock: guards the backlog.
        fetched: called under it once messages were read back.
        dropped: called under it with how many of each kind were dropped.
        tell: called without it: one line for a person, and a word for the state.
    """

    lock: threading.Lock
    fetched: Callable[[], None]
    dropped: Callable[[Counter[str]], None]
    tell: Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class _Pending:
    row: Row
    ring_at: int | None
    since_ns: int


class Keeper:
    """Writes messages that wait, takes out those that have left, reads back those whose turn comes.

    Args:
        path: of the file.
        sync: see `Store`.
        bounds: of the file.
        ring: where messages are until they are on disk; None where there is no such place.
    """

    def __init__(self, path: Path, sync: Sync, bounds: Bounds, ring: Ring | None) -> None:
        self._path = path
        self._store = Store(path, sync)
        self._syncs = sync == "normal"
        self._expiry_s = bounds.expiry_s
        self._surplus = Surplus(self._store, bounds)
        self._ring = ring
        self._linger_ns = 0 if ring is None or sync == "full" else LINGER_NS
        self._thread = threading.Thread(target=self._run, name="outbox store", daemon=False)
        # Under the lane's lock:
        self._pending: dict[int, _Pending] = {}
        self._stop = False
        # Of the thread alone:
        self._failed = False
        self._alarmed = False
        self._written = False
        self._synced_ns = self._looked_ns = self._tidied_ns = time.monotonic_ns()

    # ── the lane's side ──────────────────────────────────────────────────────────────────────────────────────────────

    def start(self, hooks: KeeperHooks, backlog: Backlog) -> int:
        """Open the file, hand what is still live to the backlog, start the thread; return how many messages wait."""
        self._hooks, self._backlog = hooks, backlog
        self._work = threading.Condition(hooks.lock)
        left = self._open_ring()
        now = _now()
        news = self._try_to_open(now, left)
        last = max([self._store.last, now.utc_ns // 1000, *(row.number for row in left)])
        backlog.resume(0 if self._failed else self._store.count, last)
        if self._failed:
            with hooks.lock:
                self._hold_in_memory(left)
        elif self._expiry_s is not None:
            self._revive(now.monotonic_ns - int(self._expiry_s * 1e9))
        waiting = len(backlog)
        if waiting:
            logger.info("%s: %d messages of the run before are delivered now", self._path, waiting)
        self._thread.start()
        for text, state in news:
            hooks.tell(text, state)
        return waiting

    @property
    def is_fine(self) -> bool:
        """Whether the file takes what is put."""
        return not self._failed

    def put(self, number: int, parcel: Parcel) -> None:
        """Keep one that was put; under the lock, waits for nothing. Its message is built, or it is not kept."""
        row = row_of(number, parcel)
        if row is None:
            return
        ring_at = None if self._ring is None else self._ring.put(row)
        was_idle = not self._pending
        self._pending[number] = _Pending(row, ring_at, time.monotonic_ns())
        if was_idle:
            self._work.notify()

    def wake(self) -> None:
        """Look whether there is something to do; under the lock."""
        if self._backlog.room() or (len(self._backlog.left) == 1 and not self._pending):
            self._work.notify()

    def stop(self) -> None:
        """Write what is still to be written, and close the file."""
        with self._hooks.lock:
            self._stop = True
            self._work.notify()
        if self._thread.ident is not None:
            self._thread.join(STOP_S)
        if self._thread.is_alive():
            logger.error("%s: the disk does not come back from writing; left behind", self._path)

    # ── the thread ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        goes_on = True
        while goes_on:
            goes_on = self._wait()
            try:
                self._turn()
            except (sqlite3.Error, OSError) as error:
                self._fail(error)
            except Exception:  # the thread's root: messages go on being delivered from memory
                logger.exception("%s: a fault of this software", self._path)
                self._fail(sqlite3.OperationalError("a fault of this software"))
        with suppress(sqlite3.Error, OSError):
            if not self._failed:
                self._store.shrink()
            self._store.close()
        if self._ring is not None:
            self._ring.close()

    def _wait(self) -> bool:
        """Wait until there is something to do; False once it is to stop."""
        with self._hooks.lock:
            while not self._stop:
                due_ns, now_ns = self._due_ns(), time.monotonic_ns()
                if due_ns is not None and due_ns <= now_ns:
                    return True
                self._work.wait(None if due_ns is None else (due_ns - now_ns) / 1e9)
            return False

    def _due_ns(self) -> int | None:
        if self._failed:
            return self._looked_ns + LOOK_NS
        dues = []
        if self._pending:
            dues.append(next(iter(self._pending.values())).since_ns + self._linger_ns)
        if self._backlog.left:
            dues.append(self._tidied_ns + TIDY_NS)
        if self._backlog.room():
            return 0
        if self._syncs and self._written:
            dues.append(self._synced_ns + SYNC_NS)
        if self._store.count:
            dues.append(self._looked_ns + LOOK_NS)
        return min(dues, default=None)

    def _turn(self) -> None:
        now_ns = time.monotonic_ns()
        if self._failed:
            self._looked_ns = now_ns
            self._reopen()
        self._write()
        if self._alarmed:
            self._alarmed = False
            logger.warning("%s: messages are kept on disk again", self._path)
            self._hooks.tell("messages that wait for the broker are kept on disk again", "resumed")
        self._fetch()
        self._drop(self._surplus.too_much)
        if now_ns - self._looked_ns >= LOOK_NS:
            self._looked_ns = now_ns
            self._drop(lambda: self._surplus.too_old(now_ns))
        if self._syncs and self._written and now_ns - self._synced_ns >= SYNC_NS:
            self._store.sync()
            self._synced_ns, self._written = now_ns, False

    def _write(self) -> None:
        """Write what is new and take out what has left, in one transaction."""
        with self._hooks.lock:
            for number in self._backlog.left & self._pending.keys():  # delivered before it was ever written
                del self._pending[number]
                self._backlog.left.discard(number)
            writing, gone = dict(self._pending), list(self._backlog.left)
            self._tidied_ns = time.monotonic_ns()
        if writing or gone:
            self._store.write([pending.row for pending in writing.values()], gone)
            self._written = True
        with self._hooks.lock:
            for number in writing:
                del self._pending[number]
            self._backlog.left.difference_update(gone)
            self._backlog.stored(writing)
            self._release()

    def _release(self) -> None:
        """Have the ring forget what is on disk or gone."""
        if self._ring is not None:
            positions = (one.ring_at for one in self._pending.values() if one.ring_at is not None)
            self._ring.release(next(positions, self._ring.end))

    def _fetch(self) -> None:
        with self._hooks.lock:
            room, read_to = self._backlog.room(), self._backlog.read_to
        if not room:
            return
        rows = self._store.above(read_to, room)
        parcels = [(row.number, parcel_of(row)) for row in rows]
        good = [(number, parcel) for number, parcel in parcels if parcel is not None]
        bad = [number for number, parcel in parcels if parcel is None]
        if bad:
            self._store.write([], bad)
        with self._hooks.lock:
            self._backlog.fetched(good, is_all=len(rows) < room)
            self._hooks.fetched()

    def _drop(self, choose: Callable[[], Sequence[Row]]) -> None:
        """Take what is chosen out of file and memory, but for what is on its way, until there is nothing to choose."""
        while rows := choose():
            with self._hooks.lock:
                dropped = [row for row in rows if self._backlog.may_drop(row.number)]
                self._hooks.dropped(Counter(row.kind for row in dropped))
            if not dropped:
                return
            self._store.write([], [row.number for row in dropped])

    # ── trouble ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _fail(self, error: Exception) -> None:
        """Go on from memory, or with a new file where the old one is damaged; tell it once."""
        if isinstance(error, sqlite3.DatabaseError) and is_damage(error) and not self._failed:
            try:
                text = self._replace(error)
            except (sqlite3.Error, OSError) as worse:
                error = worse
            else:
                self._hooks.tell(text, "damaged")
                return
        self._failed = True
        self._looked_ns = time.monotonic_ns()
        with suppress(sqlite3.Error, OSError):
            self._store.close()
        if not self._alarmed:
            self._alarmed = True
            text = _trouble(self._path, error)
            logger.error("%s", text)
            self._hooks.tell(text, "failed")

    def _reopen(self) -> None:
        try:
            self._store.open(_now())
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self._replace(error)
        self._store.probe()
        self._failed = False
        self._write()
        with self._hooks.lock:
            self._backlog.recount(self._store.count)

    def _replace(self, error: Exception) -> str:
        """Put a damaged file aside, begin a new one with what can be read of it, and return what there is to tell."""
        with suppress(sqlite3.Error, OSError):
            self._store.close()
        rows = salvage(self._path)
        now = _now()
        aside = put_aside(self._path, now.utc_ns)
        self._store.open(now)
        self._store.write(rows, [])
        with self._hooks.lock:
            lost = self._backlog.forget_disk()
            memory = self._backlog.in_memory()
            for number, parcel in memory:
                row = row_of(number, parcel)
                if row is not None and number not in self._pending:
                    self._pending[number] = _Pending(row, None, now.monotonic_ns)
            there = {row.number for row in rows}
            kept = len(there - {number for number, _ in memory} - self._backlog.left)
            self._backlog.resume(kept, max(there, default=0))
            if lost > kept:
                self._hooks.dropped(Counter({"damaged": lost - kept}))
        text = f"{self._path} is damaged ({error}); put aside as {aside.name}; {len(rows)} messages could be read of it"
        logger.error("%s", text)
        return text

    # ── the start ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _open_ring(self) -> list[Row]:
        if self._ring is None:
            return []
        try:
            return self._ring.open()
        except OSError as error:
            logger.warning("%s; what is judged within the last milliseconds before a kill -9 is not kept", error)
            self._ring, self._linger_ns = None, 0
            return []

    def _try_to_open(self, now: Now, left: list[Row]) -> list[tuple[str, str]]:
        """Open the file and write into it what the ring had; return what there is to tell."""
        news: list[tuple[str, str]] = []
        try:
            try:
                self._store.open(now)
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                news.append((self._replace(error), "damaged"))
            self._store.write(left, [])
            self._release()
        except (sqlite3.Error, OSError) as error:
            self._failed = self._alarmed = True
            with suppress(sqlite3.Error, OSError):
                self._store.close()
            news.append((_trouble(self._path, error), "failed"))
            logger.error("%s", news[-1][0])  # noqa: TRY400 - the cause is in the text, and is no fault of this software
        return news

    def _hold_in_memory(self, rows: Iterable[Row]) -> None:
        """Take what the ring had, until the file can be opened."""
        for row in rows:
            parcel = parcel_of(row)
            if parcel is not None and parcel.message_id not in self._backlog:
                self.put(self._backlog.append(parcel), parcel)

    def _revive(self, since_ns: int) -> None:
        """Take the newest into memory as live, as far as they are."""
        rows = self._store.since(since_ns, REVIVED)
        self._backlog.revive((row.number, parcel) for row in rows if (parcel := parcel_of(row)) is not None)


def _now() -> Now:
    return Now(time.monotonic_ns(), time.time_ns())


def _trouble(path: Path, error: Exception) -> str:
    remedy = "make room on the disk, or see that this user may write there; it is tried again every 5 s"
    if "locked" in str(error):
        remedy = "another service uses this file; give each line an outbox.path of its own"
    return f"{path}: messages can't be kept on disk ({error}) and wait in memory; {remedy}"
