"""A disk that is full, on a real small one where that can be had."""

import shutil
import time

import numpy as np
import pytest

from app.evidence import shelf
from app.verdict import Verdict
from tests.evidence.conftest import IMAGE, Kept
from tests.evidence.disk import Usage, fill

NOISE = np.random.default_rng(1).integers(0, 255, (240, 320, 3)).astype(np.uint8)  # 230 kB, and no PNG makes it less


@pytest.fixture(autouse=True)
def soon_again(monkeypatch):
    monkeypatch.setattr(shelf, "RETRY_S", 0.05)


def kinds(events):
    return [(event.kind, getattr(event, "saving", None)) for event in events if event.kind == "evidence"]


def broken(folder):
    """Files without pixels, and pieces without their record."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    stems = {path.name.partition(".")[0] for path in files}
    records = {path.name.partition(".")[0] for path in files if path.suffix == ".json"}
    return [path for path in files if path.stat().st_size == 0], stems - records - {"of-somebody-else"}


def test_ops_06_a_full_disk_is_one_alarm_and_saving_goes_on_when_there_is_room(small_disk, outcome):
    disk = small_disk(2 << 20)
    with Kept(disk, view=False) as here:
        first = here.put(outcome(1), NOISE).evidence
        here.settled()
        others = fill(here.root, 60_000)
        named = []
        for seq in range(2, 12):
            named.append(here.put(outcome(seq), NOISE).evidence)
            here.settled()
        assert kinds(here.events) == [("evidence", False)]
        assert broken(disk) == ([], set())
        assert (here.root / first).is_file()
        others.unlink()
        until = time.monotonic() + 20
        seq = 12
        while kinds(here.events) != [("evidence", False), ("evidence", True)]:
            assert time.monotonic() < until, "nothing is saved again"
            last = here.put(outcome(seq), NOISE).evidence
            here.settled()
            seq += 1
    assert (here.root / last).is_file()
    assert broken(disk) == ([], set())
    lost = [path for event in here.events if event.kind == "evidence_lost" for path in event.pictures]
    assert sorted(lost) == sorted(path for path in named if path), "a result named it, so an event says that it is lost"


def test_ops_06_while_the_disk_is_full_nothing_waits_in_memory_and_no_message_names_a_picture(
    small_disk, outcome, monkeypatch
):
    monkeypatch.setattr(shelf, "RETRY_S", 3600.0)
    disk = small_disk(2 << 20)
    with Kept(disk, view=False) as here:
        fill(here.root, 10_000)
        here.put(outcome(1), NOISE)
        here.settled()
        assert [here.put(outcome(seq), NOISE).evidence for seq in range(2, 50)] == [""] * 48
        assert here.writer.counts().waiting == 0


def test_ops_06_room_is_left_for_the_outbox_and_the_log(small_disk, outcome):
    disk = small_disk(2 << 20)
    with Kept(disk, view=False, min_free_bytes=1 << 20) as here:
        for seq in range(12):
            here.put(outcome(seq), NOISE)
            here.settled()
    assert fill(disk, 0).stat().st_size > 900_000
    assert kinds(here.events) == [("evidence", False)]


def test_ops_06_a_quota_smaller_than_the_disk_prunes_and_alarms_nobody(small_disk, outcome):
    disk = small_disk(4 << 20)
    with Kept(disk, view=False, max_bytes=1 << 20) as here:
        named = [here.put(outcome(seq), NOISE).evidence for seq in range(4)]
        here.settled()
        named += [here.put(outcome(seq), NOISE).evidence for seq in range(4, 10)]
    there = [path for path in named if (here.root / path).is_file()]
    assert there == named[-len(there) :]
    assert len(there) == 4
    assert here.events == []


def test_ops_06_a_disk_that_fills_up_while_a_picture_is_written_keeps_no_part_of_it(small_disk, outcome, monkeypatch):
    disk = small_disk(2 << 20)
    with Kept(disk) as here:
        fill(here.root, 150_000)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 40, 0, 1 << 40))
        path = here.put(outcome(1), NOISE).evidence
        here.settled()
        assert [file.name for file in disk.rglob("*") if file.is_file()] == ["of-somebody-else"]
    assert [event.kind for event in here.events] == ["evidence", "evidence_lost"]
    assert here.events[1].pictures == [path]


def test_a_small_picture_after_a_large_one_finds_its_place(small_disk, outcome):
    disk = small_disk(1 << 20)
    with Kept(disk, view=False) as here:
        fill(here.root, 40_000)
        here.put(outcome(1), NOISE)
        here.settled()
        until = time.monotonic() + 20
        while not (path := here.put(outcome(2, Verdict.NG), IMAGE).evidence):
            assert time.monotonic() < until
            time.sleep(0.01)
        here.settled()
    assert (here.root / path).is_file()
