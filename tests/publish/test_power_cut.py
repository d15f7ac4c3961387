"""What a loss of power leaves of the results that wait: what was synced, whatever the disk had of the rest."""

import os
import random
import shutil
import threading
from pathlib import Path

import pytest

from app.publish import store_keeper
from app.publish.store import PLAUSIBLE_NS, Now, Row, Store
from tests.publish.durable import wait_until

NOW = Now(10**15, PLAUSIBLE_NS + 10**18)
LEVELS = {"off": 0, "normal": 1, "full": 2}
"""SQLite's words: with a write-ahead log 2 is an `fsync` for each transaction, 1 and 0 none; docs/reliability.md."""


def row(number):
    return Row(number, "NG", 10**15, NOW.utc_ns, bytes(random.Random(number).randbytes(300)))


@pytest.mark.parametrize("sync", LEVELS)
def test_each_policy_is_the_one_that_sqlite_keeps(sync, tmp_path):
    store = Store(tmp_path / "outbox.sqlite", sync)
    store.open(NOW)
    assert store._open.execute("PRAGMA synchronous").fetchone() == (LEVELS[sync],)
    assert store._open.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


def test_what_was_synced_is_read_again_however_much_of_the_rest_the_disk_had(tmp_path):
    """The log may end anywhere after what was synced, in zeros, or in what lay there before."""
    path, dice = tmp_path / "outbox.sqlite", random.Random(5)
    store = Store(path, "normal")
    store.open(NOW)
    store.write([row(number) for number in range(1, 6)], [])
    store.sync()
    log = path.with_name("outbox.sqlite-wal")
    synced = log.stat().st_size
    for number in range(6, 16):
        store.write([row(number)], [number - 5])
    whole = log.read_bytes()
    assert len(whole) > synced
    for attempt in range(40):
        cut = dice.randrange(synced, len(whole) + 1)
        tail = [b"", bytes(len(whole) - cut), dice.randbytes(len(whole) - cut)][attempt % 3]
        folder = tmp_path / f"{attempt}"
        folder.mkdir()
        shutil.copy(path, folder)
        (folder / log.name).write_bytes(whole[:cut] + tail)
        after = Store(folder / path.name, "normal")
        after.open(NOW)
        there = [(one.number, one.message) for one in after.above(0, 99)]
        after.close()
        last = there[-1][0]
        assert last >= 5, "what was synced is there"
        # Each transaction put one in and took one out: all of them up to some moment, and none after it.
        assert there == [(number, row(number).message) for number in range(max(1, last - 4), last + 1)]
    store.close()


def test_while_something_waits_normal_syncs_the_log_from_its_own_thread(start, tmp_path, monkeypatch):
    synced, real = [], os.fsync

    def fsync(handle):
        synced.append((f"{Path(f'/proc/self/fd/{handle}').readlink()}", threading.current_thread().name))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with start(away=True) as outbox:
        outbox.event("front", "camera", "lost")
        wait_until(lambda: synced)
    assert synced[0] == (str(tmp_path / "outbox.sqlite-wal"), "outbox store")


@pytest.mark.parametrize("sync", ["off", "full"])
def test_the_other_policies_leave_it_to_the_system_or_to_each_write(sync, start, tmp_path, monkeypatch):
    asked, real = [], Store.sync
    monkeypatch.setattr(store_keeper, "SYNC_NS", 0)  # `normal` would do it at each turn
    monkeypatch.setattr(Store, "sync", lambda store: (asked.append(store), real(store)))
    with start(away=True, sync=sync) as outbox:
        for number in range(3):
            outbox.event("front", "camera", f"lost {number}")
            wait_until(lambda: on_disk(tmp_path) > number)  # noqa: B023 - called now
    assert asked == []


def on_disk(folder):
    """How many messages the file has by the bytes of its log, which nobody else may open while it is in use."""
    log = folder / "outbox.sqlite-wal"
    return log.read_bytes().count(b"lost ") if log.exists() else 0
