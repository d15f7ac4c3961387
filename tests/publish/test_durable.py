"""Results wait on disk: over restarts, outages and kills, within bounds; the disk is never waited for."""

import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import pytest

from app.verdict import Verdict
from tests.publish.durable import WAIT_S, counts, wait_until


def age(path, where):
    """Make rows a minute and more older."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"UPDATE parcel SET put_ns = put_ns - 61000000000 WHERE {where}")


def on_disk(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT count(*) FROM parcel").fetchone()[0]


def test_what_could_not_be_delivered_is_delivered_after_the_restart_under_its_own_id(start, outcome):
    with start(away=True) as outbox:
        for seq in range(50):
            outbox.put(outcome(seq))
    with start() as outbox:
        assert outbox.broker.taken.wait_for(50)
        wait_until(lambda: counts(outbox).delivered == 50)
    assert outbox.broker.seqs == list(range(50))
    assert [result.id for result in outbox.broker.results] == [f"run-Ofen-Tür-{seq}.1" for seq in range(50)]
    assert not any(result.history for result in outbox.broker.results), "they are live still"
    with start() as outbox:
        assert counts(outbox).put == 0


def test_what_the_broker_has_is_gone_from_the_disk(start, outcome, tmp_path):
    with start() as outbox:
        for seq in range(200):
            outbox.put(outcome(seq))
        assert outbox.broker.taken.wait_for(200)
    assert on_disk(tmp_path / "outbox.sqlite") == 0


@pytest.mark.parametrize("ring", [True, False])
def test_what_had_no_acknowledgement_is_sent_again_with_the_same_id(start, outcome, ring):
    with start(acks=False, ring=ring) as outbox:
        for seq in range(5):
            outbox.put(outcome(seq))
        assert outbox.broker.taken.wait_for(5)
    first = outbox.broker.results
    with start(ring=ring) as outbox:
        assert outbox.broker.taken.wait_for(5)
    assert outbox.broker.results == first


def test_what_is_expired_comes_as_history_behind_what_is_live(start, outcome, tmp_path):
    with start(away=True) as outbox:
        for seq in range(4):
            outbox.put(outcome(seq))
    age(tmp_path / "outbox.sqlite", "n < (SELECT max(n) FROM parcel)")
    with start(away=True) as outbox:
        outbox.put(outcome(100))
        outbox.broker.is_away = False
        assert outbox.broker.taken.wait_for(5)
    said = [(result.seq, result.history) for result in outbox.broker.results]
    assert said == [(3, False), (100, False), (0, True), (1, True), (2, True)]


def test_times_of_the_boot_before_count_by_the_wall_clock(start, outcome, tmp_path):
    with start(away=True) as outbox:
        for seq in range(3):
            outbox.put(outcome(seq))
    with closing(sqlite3.connect(tmp_path / "outbox.sqlite")) as db, db:
        db.execute("UPDATE about SET value = 'another boot'")
        db.execute("UPDATE parcel SET put_ns = put_ns + 1000000000000000")
        db.execute("UPDATE parcel SET utc_ns = utc_ns - 61000000000 WHERE n = (SELECT min(n) FROM parcel)")
        # A machine without a battery for its clock began in 1970: nothing can be told, so it counts as new.
        db.execute("UPDATE parcel SET utc_ns = 12345 WHERE n = (SELECT max(n) FROM parcel)")
    with start() as outbox:
        assert outbox.broker.taken.wait_for(3)
    assert [(result.seq, result.history) for result in outbox.broker.results] == [(1, False), (2, False), (0, True)]


def test_nothing_expires_where_nothing_shall(start, outcome):
    with start(away=True, expiry_s=None) as outbox:
        for seq in range(3):
            outbox.put(outcome(seq))
    with start(expiry_s=None) as outbox:
        assert outbox.broker.taken.wait_for(3)
    assert [(result.seq, result.history) for result in outbox.broker.results] == [(0, False), (1, False), (2, False)]


def test_a_backlog_far_beyond_memory_comes_back_whole_and_in_order(start, outcome):
    with start(away=True, max_waiting=100, expiry_s=0.05) as outbox:
        for seq in range(3000):
            outbox.put(outcome(seq, Verdict.NG))
            if seq % 20 == 0:  # as slow as a disk: what is not on it is dropped where memory is short
                wait_until(lambda: not outbox._primary._keeper._pending)
        assert counts(outbox).dropped == 0
        wait_until(lambda: len(outbox._primary._backlog._number_of) <= 100)  # one more while one is added
        outbox.broker.is_away = False
        wait_until(lambda: counts(outbox).delivered == 3000)
    # How many of the last are young enough to be live, and so go ahead of the history, is the machine's speed.
    live = [result.seq for result in outbox.broker.results if not result.history]
    history = [result.seq for result in outbox.broker.results if result.history]
    assert sorted(history + live) == list(range(3000))
    assert live == sorted(live)
    assert history == sorted(history)


def test_the_oldest_ok_go_first_from_the_disk_and_are_counted(start, outcome):
    with start(away=True, max_messages=100) as outbox:
        for seq in range(300):
            outbox.put(outcome(seq, Verdict.NG if seq % 4 == 0 else Verdict.OK))
        wait_until(lambda: counts(outbox).waiting <= 101)
    with start() as outbox:
        wait_until(lambda: outbox.broker.taken.items and counts(outbox).waiting == 0)
    assert set(range(0, 300, 4)) <= set(outbox.broker.seqs), "every NG is there"
    assert outbox.broker.seqs == sorted(outbox.broker.seqs)


def test_without_any_ok_left_the_oldest_of_all_go(start, outcome):
    with start(away=True, max_messages=100) as outbox:
        for seq in range(300):
            outbox.put(outcome(seq, Verdict.UNKNOWN))
        wait_until(lambda: counts(outbox).waiting <= 101)
        wait_until(lambda: outbox.counts()["mqtt"].dropped >= 199)
    with start() as outbox:
        wait_until(lambda: 299 in outbox.broker.seqs)
    assert min(outbox.broker.seqs) >= 199


def test_too_many_bytes_are_dropped_like_too_many_messages(start, outcome):
    with start(away=True, max_bytes=100_000) as outbox:
        for seq in range(300):
            outbox.put(outcome(seq, boxes=10))
        wait_until(lambda: counts(outbox).waiting < 100)
        assert counts(outbox).dropped > 100


def test_what_is_too_old_is_dropped_and_counted_after_a_restart(start, outcome, monkeypatch):
    with start(away=True) as outbox:
        outbox.put(outcome(1, Verdict.NG))
    monkeypatch.setattr("app.publish.store_keeper.LOOK_NS", 1)
    with start(away=True, max_age_s=0.01) as outbox:
        wait_until(lambda: counts(outbox).dropped == 1)
        assert counts(outbox).waiting == 0


CHILD = """
import sys, time, itertools, os
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.publish.conftest import make_outcome
from app.publish.outbox import Outbox
from app.publish.store_bounds import Bounds
from app.publish.store_keeper import Keeper
from app.publish.store_ring import Ring
from app.errors import SinkLost

class Away:
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def send(self, message): raise SinkLost("away")

folder = Path({folder!r})
record = os.open(folder / "judged", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
outbox = Outbox("line", max_waiting=1000, max_waiting_bytes=1 << 25, max_age_s=3600.0, expiry_s=60.0)
ring = Ring(folder / "outbox.ring")
keeper = Keeper(folder / "outbox.sqlite", "normal", Bounds(100000, 1 << 28, 3600.0, 60.0), ring)
outbox.add("mqtt", Away(), answers=True, keeper=keeper)
with outbox:
    for seq in itertools.count({first}):
        outbox.put(make_outcome(seq))
        os.write(record, b"%d\\n" % seq)
        time.sleep(0.0005)
"""


def test_mq_17_kill_9_at_any_moment_costs_nothing_that_was_put(start, tmp_path, root):
    kills = 4
    for number in range(kills):
        code = CHILD.format(root=str(root), folder=str(tmp_path), first=number * 100_000)
        with subprocess.Popen([sys.executable, "-c", code], cwd=root) as process:
            before = _lines(tmp_path)
            enough = len(before) + 40 + 17 * number
            wait_until(lambda enough=enough: len(_lines(tmp_path)) > enough)
            process.send_signal(signal.SIGKILL)
    judged = {int(line) for line in _lines(tmp_path)}
    with start() as outbox:
        wait_until(lambda: outbox.broker.taken.items and counts(outbox).waiting == 0)
    came = outbox.broker.seqs
    assert judged <= set(came), f"missing: {sorted(judged - set(came))}"
    # One more for each kill: put, and not yet in the test's own record.
    assert len(set(came) - judged) <= kills


def _lines(folder):
    path = folder / "judged"
    return path.read_text(encoding="ascii").splitlines() if path.exists() else []


def test_put_waits_for_no_disk(start, outcome, monkeypatch):
    entered, go = threading.Event(), threading.Event()

    def slow(self, rows, gone):
        entered.set()
        go.wait(WAIT_S)

    with start(sync="full", acks=False) as outbox:
        monkeypatch.setattr("app.publish.store.Store.write", slow)
        try:
            outbox.put(outcome(0))
            assert entered.wait(WAIT_S)
            for seq in range(1, 50):
                outbox.put(outcome(seq))
            assert outbox.broker.taken.wait_for(50), "the broker has them while the disk still writes"
        finally:
            monkeypatch.undo()
            go.set()


def test_what_may_be_taken_later_waits_behind_the_others(start, outcome, monkeypatch):
    monkeypatch.setattr("app.publish.lane.LATER_NS", 200_000_000)
    with start(acks=False) as outbox:
        outbox.put(outcome(1))
        assert outbox.broker.taken.wait_for(1)
        outbox.refused(outbox.broker.results[0].id, "Not authorized", later=True)
        outbox.broker.acks = True
        outbox.put(outcome(2))
        wait_until(lambda: counts(outbox).delivered == 2)
    assert [(result.seq, result.history) for result in outbox.broker.results] == [(1, False), (2, False), (1, True)]
