"""Where results wait: looked at by keeping something there."""

import sqlite3

import pytest

from app.config.sections import Outbox
from app.doctor import outbox
from app.doctor.file_system import kind_of
from app.doctor.line import Level
from app.doctor.outbox import check_outbox, try_to_keep
from app.doctor.room import Usage
from app.publish.store import Store

MB = 1_000_000


def plenty(_):
    return Usage(10**12, 0, 10**12)


def looked(path, usage=plenty, kind=lambda _: "ext4", **section):
    return check_outbox(Outbox(path=str(path), **section), usage, kind)


def test_a_place_that_keeps_results_is_fine_and_nothing_is_left_there(tmp_path):
    line = looked(tmp_path / "not" / "yet" / "outbox.sqlite")
    assert (line.level, line.topic) == (Level.OK, "outbox")
    assert "MB free, may need 537" in line.text
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_waits_there_already_is_left_alone_and_counts_as_room_that_is_taken(tmp_path):
    path = tmp_path / "outbox.sqlite"
    path.write_bytes(bytes(500 * 1000))
    assert "may need 536" in looked(path).text
    assert path.read_bytes() == bytes(500 * 1000)


ROOM = [
    # MB free, outbox.max_bytes in MB, how it is
    (2000, 268, Level.OK),
    (600, 268, Level.OK),
    (500, 268, Level.WARN),  # file and log together may need twice
    (150, 30, Level.OK),
    (99, 30, Level.FAIL),  # as every disk that is written to
]


@pytest.mark.parametrize(("free", "most", "level"), ROOM)
def test_room_is_measured_against_what_may_wait(free, most, level, tmp_path):
    line = looked(tmp_path / "a.sqlite", lambda _: Usage(10**12, 0, free * MB), max_bytes=most * MB)
    assert line.level is level
    assert not line.remedy if level is Level.OK else line.remedy == "make room, or lower outbox.max_bytes"


PLACES = [
    # path below the folder, what is said, the remedy
    ("file/outbox.sqlite", "it is a file, and a folder is wanted", "move it away or choose another path"),
    ("folder", "it is a folder", "name a file in it"),
]


@pytest.mark.parametrize(("path", "said", "remedy"), PLACES)
def test_a_place_that_can_not_be_written_is_broken(path, said, remedy, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    line = looked(tmp_path / path)
    assert (line.level, line.remedy) == (Level.FAIL, remedy)
    assert said in line.text
    assert "in memory alone" in line.text, "what becomes of results then"


def test_a_file_that_may_not_be_opened_is_broken(tmp_path, monkeypatch):
    path = tmp_path / "outbox.sqlite"
    path.write_bytes(b"")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", refuse)
    line = looked(path)
    assert (line.level, line.remedy) == (Level.FAIL, "chown or chmod it, or name another")


class WithoutLog(Store):
    """A store on a file system where SQLite can't have its write-ahead log: it goes on without, and says nothing."""

    def open(self, now):
        super().open(now)
        self._open.execute("PRAGMA journal_mode = DELETE")


class Locked(Store):
    def open(self, now):
        raise sqlite3.OperationalError("disk I/O error")


@pytest.mark.parametrize(
    ("store", "said"),
    [(WithoutLog, "SQLite can't have its write-ahead log on it"), (Locked, "disk I/O error")],
)
def test_a_file_system_that_sqlite_can_not_keep_its_log_on_is_broken(store, said, tmp_path, monkeypatch):
    monkeypatch.setattr(outbox, "Store", store)
    line = looked(tmp_path / "a.sqlite")
    assert line.level is Level.FAIL
    assert said in line.text
    assert line.remedy.startswith("set outbox.path to a file on a disk of this machine")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("kind", "said"), [("nfs4", "on another machine (nfs4)"), ("tmpfs", "in memory (tmpfs)")])
def test_a_file_system_that_takes_everything_and_does_not_keep_it_is_to_be_looked_at(kind, said, tmp_path):
    line = looked(tmp_path / "a.sqlite", kind=lambda _: kind)
    assert line.level is Level.WARN
    assert said in line.text
    assert line.remedy


def test_memory_is_to_be_looked_at_where_it_was_asked_for_and_fine_where_there_is_no_service(monkeypatch):
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    assert looked("memory").level is Level.WARN
    assert looked("auto").level is Level.OK


def test_under_systemd_auto_is_the_service_s_own_state_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    assert f"{tmp_path}/outbox.sqlite" in looked("auto").text


def test_it_keeps_something_in_a_real_folder(tmp_path):
    assert try_to_keep(tmp_path) is None
    assert "No such file" in try_to_keep(tmp_path / "none")


MOUNTS = r"""
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:26 / /mnt/my\040disk rw shared:1 - nfs4 plant:/a rw
31 22 0:27 / /mnt rw - xfs /dev/b rw
32 22 0:28 / /mnt/my\040disk rw - tmpfs tmpfs rw
"""


def test_the_innermost_and_newest_mount_is_what_a_path_lies_on(tmp_path):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS.strip())
    for path, kind in [("/mnt/my disk/a/b", "tmpfs"), ("/mnt/other", "xfs"), ("/mnt2", "ext4")]:
        assert kind_of(type(tmp_path)(path), mounts) == kind
    assert kind_of(tmp_path, tmp_path / "none") == ""
    assert kind_of(tmp_path) != ""
