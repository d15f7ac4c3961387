"""The outbox's file: rows in order, all or nothing, counted; times on this boot's clock; one owner."""

import sqlite3
from contextlib import closing

import pytest

from app.publish.store import PLAUSIBLE_NS, ROW_BYTES, Now, Row, Store
from app.publish.store_bounds import Bounds, Surplus
from app.publish.store_damage import KEPT, put_aside, salvage

NOW = Now(10**15, PLAUSIBLE_NS + 10**18)


def row(number, kind="OK", put_ns=10**15, size=10):
    return Row(number, kind, put_ns, NOW.utc_ns, bytes(size))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "outbox.sqlite"


@pytest.fixture(params=["full", "normal", "off"])
def store(path, request):
    one = Store(path, request.param)
    one.open(NOW)
    yield one
    one.close()


def numbers(rows):
    return [one.number for one in rows]


def test_rows_are_read_in_order_and_counted(store):
    store.write([row(number) for number in (1, 2, 5, 9)], [])
    assert numbers(store.above(1, 2)) == [2, 5]
    assert (store.count, store.bytes) == (4, 4 * (10 + ROW_BYTES))
    store.write([row(10, size=30)], [1, 5, 77])
    assert numbers(store.above(0, 100)) == [2, 9, 10]
    assert (store.count, store.bytes) == (3, 2 * 10 + 30 + 3 * ROW_BYTES)
    store.sync()


def test_what_is_there_already_is_kept_and_counted_once(store):
    store.write([row(1, kind="NG")], [])
    store.write([row(1, kind="OK"), row(2)], [])
    assert [(one.number, one.kind) for one in store.above(0, 9)] == [(1, "NG"), (2, "OK")]
    assert store.count == 2


def test_more_numbers_than_one_statement_takes_go(store):
    store.write([row(number) for number in range(1, 1301)], [])
    store.write([], list(range(1, 1291)))
    assert numbers(store.above(0, 99)) == list(range(1291, 1301))
    assert store.count == 10


def test_a_write_that_fails_leaves_nothing_behind(store):
    with pytest.raises(sqlite3.Error):
        store.write([row(1), Row(2, "OK", 0, 0, object())], [])
    assert (store.above(0, 9), store.count) == ([], 0)
    store.write([row(3)], [])
    assert numbers(store.above(2, 9)) == [3]


def test_it_is_there_after_it_was_opened_again(store, path):
    store.write([row(1), row(2)], [])
    store.close()
    store.close()
    store.open(NOW)
    assert (store.count, store.last) == (2, 2)


def test_two_can_not_have_one_file(store, path):
    other = Store(path, "normal")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        other.open(NOW)
    other.close()


def test_the_room_of_an_outage_is_given_back(path):
    store = Store(path, "off")
    store.open(NOW)
    store.write([row(number, size=4000) for number in range(1, 4001)], [])
    store.write([], list(range(1, 4001)))
    store.shrink()
    store.close()
    assert path.stat().st_size < 100_000


def test_a_file_of_another_version_is_no_such_file(path):
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(sqlite3.DatabaseError, match="schema 99"):
        Store(path, "normal").open(NOW)


SURPLUS = [
    ("OK OK OK OK OK", 3, [1, 2]),  # the oldest OK first
    ("NG OK UNKNOWN OK NG", 3, [2, 4]),  # NG and UNKNOWN stay while an OK is there
    ("NG NG UNKNOWN event NG", 3, [1, 2]),  # no OK: the oldest of all
    ("NG OK NG NG NG", 3, [2, 1]),  # what OKs there are, then the oldest
    ("OK NG", 3, []),  # little enough
]


@pytest.mark.parametrize(("kinds", "most", "gone"), SURPLUS)
def test_the_least_needed_goes_first(store, kinds, most, gone):
    store.write([row(number, kind) for number, kind in enumerate(kinds.split(), 1)], [])
    surplus, dropped = Surplus(store, Bounds(most, 1 << 30, 3600.0, 60.0)), []
    while rows := surplus.too_much():
        dropped += numbers(rows)
        store.write([], numbers(rows))
    assert dropped == gone


def test_too_many_bytes_count_like_too_many_rows(store):
    store.write([row(number, size=936) for number in range(1, 11)], [])
    surplus = Surplus(store, Bounds(1000, 7500, 3600.0, 60.0))
    assert numbers(surplus.too_much()) == [1, 2, 3]


def test_what_is_too_old_goes_whatever_it_is(store):
    store.write([row(1, "NG", put_ns=10**15 - 7 * 10**9), row(2, "NG", put_ns=10**15)], [])
    assert numbers(Surplus(store, Bounds(10, 1 << 30, 5.0, 1.0)).too_old(10**15)) == [1]


def test_what_can_be_read_of_a_damaged_file_is_read(path):
    store = Store(path, "off")
    store.open(NOW)
    store.write([row(number, size=900) for number in range(1, 201)], [])
    store.close()
    whole = path.read_bytes()
    middle = len(whole) // 2 // 4096 * 4096
    path.write_bytes(whole[:middle] + b"\xff" * 8192 + whole[middle + 8192 :])
    rows = salvage(path)
    assert 100 < len(rows) < 200
    assert numbers(rows) == sorted(numbers(rows))
    assert {rows[0].number, rows[-1].number} == {1, 200}
    assert salvage(path.with_name("not there")) == []


def test_only_some_damaged_files_are_kept(path):
    path.parent.mkdir()
    for number in range(KEPT + 3):
        path.write_bytes(b"broken")
        put_aside(path, NOW.utc_ns + number * 10**9)
    kept = sorted(path.parent.iterdir())
    assert len(kept) == KEPT
    assert not path.exists()
