"""The outbox on a disk that is full, a file that is damaged or another's: said once, and the line goes on from memory."""

import sqlite3
import threading

import pytest

from tests.publish.durable import counts, wait_until


@pytest.fixture
def small_disk(tmp_path, monkeypatch):
    """Return a switch: with it on, the file can't grow, as on a disk that is full."""
    monkeypatch.setattr("app.publish.store_keeper.LOOK_NS", 50_000_000)

    class Full(sqlite3.Connection):
        is_on = False

        def executemany(self, *arguments):
            if Full.is_on:
                raise sqlite3.OperationalError("database or disk is full")
            return super().executemany(*arguments)

    connect = sqlite3.connect
    monkeypatch.setattr("app.publish.store.sqlite3.connect", lambda *paths, **how: connect(*paths, factory=Full, **how))
    return Full


def test_on_a_full_disk_results_go_on_from_memory_with_one_alarm_and_are_kept_again_later(
    start, outcome, small_disk, tmp_path
):
    with start(ring=False) as outbox:
        small_disk.is_on = True
        for seq in range(20):
            outbox.put(outcome(seq))
            threading.Event().wait(0.01)
        wait_until(lambda: outbox.broker.seqs == list(range(20)))
        wait_until(lambda: outbox.broker.told == ["failed"])
        assert not outbox._primary.keeps
        outbox.broker.is_away = True
        for seq in range(20, 40):
            outbox.put(outcome(seq))
        small_disk.is_on = False
        wait_until(lambda: outbox._primary.keeps)
        wait_until(lambda: not outbox._primary._keeper._pending)
    with start() as outbox:
        wait_until(lambda: outbox.broker.taken.items and counts(outbox).waiting == 0)
    assert outbox.broker.seqs == list(range(20, 40))


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.write_bytes(b"no database at all" * 1000), id="another file"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:5000]), id="cut off"),
        pytest.param(
            lambda path: path.write_bytes(path.read_bytes()[:8192] + bytes([0xFF]) * 8192 + path.read_bytes()[16384:]),
            id="pages overwritten",
        ),
    ],
)
def test_a_damaged_file_is_put_aside_by_name_and_the_line_goes_on(start, outcome, tmp_path, damage, caplog):
    path = tmp_path / "outbox.sqlite"
    with start(away=True) as outbox:
        for seq in range(100):
            outbox.put(outcome(seq))
    damage(path)
    with start() as outbox:
        outbox.put(outcome(1000))
        wait_until(lambda: 1000 in outbox.broker.seqs)
        wait_until(lambda: outbox.broker.told == ["damaged"])
        wait_until(lambda: counts(outbox).waiting == 0)
    (aside,) = tmp_path.glob("outbox.sqlite.damaged-*")
    assert aside.name in caplog.text
    assert set(outbox.broker.seqs) <= {*range(100), 1000}, "nothing is invented"


def test_a_file_that_another_service_uses_is_left_alone_and_said_so(start, outcome, tmp_path, caplog):
    with start(away=True, ring=False) as first, start(ring=False) as second:
        first.put(outcome(1))
        second.put(outcome(2))
        wait_until(lambda: second.broker.seqs == [2])
        assert second.broker.told == ["failed"]
    assert "another service uses this file" in caplog.text


def test_a_folder_that_can_not_be_made_is_no_reason_to_stop(start, outcome, tmp_path):
    (tmp_path / "outbox.sqlite").mkdir()
    with start(ring=False) as outbox:
        outbox.put(outcome(1))
        wait_until(lambda: outbox.broker.seqs == [1])
        assert outbox.broker.told == ["failed"]
