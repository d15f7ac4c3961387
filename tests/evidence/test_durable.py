"""What a loss of power leaves of a picture: nothing, or all of it."""

import errno
import os
from pathlib import Path

import pytest

from app.evidence import durable
from app.evidence.durable import make_folders, sync
from app.evidence.folder import Folder
from app.evidence.names import INCOMING
from app.evidence.retention import OldestFirst

PLACE = "2026-11-30/covers/0320"
STEM = f"{PLACE}/covers-000001-NG-1a2b3c4d"
FILES = [(".png", b"pixels"), (".json", b"{}")]


class Calls:
    """What is done to the files of a folder, in order."""

    def __init__(self, root, monkeypatch):
        self.root, self.made = root, []
        fsync, write, replace = os.fsync, Path.write_bytes, Path.replace

        def note(what, path):
            self.made.append((what, Path(path).relative_to(root).as_posix()))

        monkeypatch.setattr(
            os, "fsync", lambda handle: (note("fsync", Path(f"/proc/self/fd/{handle}").readlink()), fsync(handle))
        )
        monkeypatch.setattr(Path, "write_bytes", lambda path, data: (note("write", path), write(path, data)))
        monkeypatch.setattr(Path, "replace", lambda path, to: (note("rename", to), replace(path, to)))

    def of(self, what):
        return [path for one, path in self.made if one == what]


def opened(root, *, synced=True):
    made = Folder(root, "evidence.path", OldestFirst(1 << 30, 30.0, 100), 0, synced=synced)
    made.open()
    return made


def test_no_name_is_given_before_its_content_is_on_the_medium_and_none_counts_before_it_is_there_itself(
    tmp_path, monkeypatch
):
    here = opened(tmp_path)
    calls = Calls(tmp_path, monkeypatch)
    added = []
    monkeypatch.setattr(here._retention, "add", lambda piece: added.append(len(calls.made)))
    here.save(STEM, FILES)
    name = STEM.rpartition("/")[2]
    assert calls.made == [
        ("write", f"{INCOMING}/{name}.png"),
        ("write", f"{INCOMING}/{name}.json"),
        ("fsync", f"{INCOMING}/{name}.png"),
        ("fsync", f"{INCOMING}/{name}.json"),
        ("rename", f"{STEM}.png"),
        ("rename", f"{STEM}.json"),
        ("fsync", PLACE),  # the files' names
        ("fsync", "2026-11-30/covers"),  # and those of the folders that were made for them
        ("fsync", "2026-11-30"),
        ("fsync", "."),
    ]
    assert added == [len(calls.made)], "it counts as kept after all of that"


def test_a_folder_that_was_there_costs_one_call_and_not_one_for_each_above_it(tmp_path, monkeypatch):
    here = opened(tmp_path)
    here.save(STEM, FILES)
    calls = Calls(tmp_path, monkeypatch)
    here.save(STEM.replace("000001", "000002"), FILES)
    assert [path for path in calls.of("fsync") if INCOMING not in path] == [PLACE]


def test_where_it_is_not_wanted_nothing_is_waited_for(tmp_path, monkeypatch):
    calls = Calls(tmp_path, monkeypatch)
    opened(tmp_path, synced=False).save(STEM, FILES)
    assert calls.of("fsync") == []
    assert calls.of("rename") == [f"{STEM}.png", f"{STEM}.json"]


@pytest.mark.parametrize("at", [0, 1, 2])  # the pixels, the record, the names
def test_a_medium_that_does_not_take_a_picture_keeps_no_part_of_it(at, tmp_path, monkeypatch):
    here = opened(tmp_path)
    here.save(STEM.replace("000001", "000000"), FILES)
    asked = []

    def fails(path):
        asked.append(path)
        if len(asked) == at + 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("app.evidence.folder.sync", fails)
    with pytest.raises(OSError, match="Input/output"):
        here.save(STEM, FILES)
    assert sorted(path.name for path in tmp_path.rglob("*000001*")) == []


def test_the_evidence_is_synced_unless_the_configuration_says_otherwise_and_the_sample_never_is(
    kept, outcome, tmp_path
):
    asked = []
    real = durable.os.fsync
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(durable.os, "fsync", lambda handle: (asked.append(handle), real(handle)))
        for number, (section, synced) in enumerate([({}, True), ({"sync": False}, False)]):
            asked.clear()
            with kept(tmp_path / str(number), collect={"every_s": 0.001, "verdicts": ["NG"]}, **section) as here:
                here.put(outcome(1))
                here.settled()
                assert here.writer.counts().saved == 2
            assert bool(asked) is synced


def test_a_folder_and_those_above_it_are_made_once(tmp_path):
    assert make_folders(tmp_path / "a" / "b") == [tmp_path, tmp_path / "a"]
    assert make_folders(tmp_path / "a" / "b") == []
    sync(tmp_path / "a")
