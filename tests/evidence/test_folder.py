"""One folder of kept pictures: whole files or none, within its bounds."""

import os
import subprocess
import sys
import time

import pytest

from app.evidence.folder import Folder
from app.evidence.names import INCOMING
from app.evidence.pixels import decode
from app.evidence.record import read_record
from app.evidence.retention import OldestFirst
from tests.conftest import ROOT

DAY = "2026-11-30/covers/0320"


def folder(root, max_bytes=1 << 30, max_days=30.0, max_files=100):
    made = Folder(root, "evidence.path", OldestFirst(max_bytes, max_days, max_files), 0)
    made.open()
    made.scan()
    return made


def save(here, seq, verdict="NG", size=100, word=""):
    stem = f"{DAY}/covers-{seq:06d}-{verdict}{word}-1a2b3c4d"
    here.save(stem, [(".png", bytes([7]) * size), (".json", b"{}")])
    return stem


def stems(root):
    return sorted(path.name.partition(".")[0] for path in root.rglob("*.json"))


def test_a_piece_is_all_of_its_files_and_nothing_is_left_where_they_came_from(tmp_path):
    here = folder(tmp_path)
    stem = save(here, 1)
    assert (tmp_path / f"{stem}.png").read_bytes() == bytes([7]) * 100
    assert (tmp_path / f"{stem}.json").read_bytes() == b"{}"
    assert list((tmp_path / INCOMING).iterdir()) == []


def test_the_oldest_go_when_there_are_too_many_and_files_of_others_stay(tmp_path):
    (tmp_path / "holiday-1-2.jpg").write_bytes(b"not ours")
    here = folder(tmp_path, max_files=3)
    for seq in range(1, 6):
        save(here, seq)
    assert [stem[7:13] for stem in stems(tmp_path)] == ["000003", "000004", "000005"]
    assert (tmp_path / "holiday-1-2.jpg").exists()


def test_bounds_hold_over_a_restart(tmp_path):
    before = folder(tmp_path)
    for seq in range(1, 5):
        save(before, seq)
        os.utime(tmp_path / f"{DAY}/covers-{seq:06d}-NG-1a2b3c4d.json", (seq, time.time() - 100 + seq))
    save(folder(tmp_path, max_files=3), 5)
    assert [stem[7:13] for stem in stems(tmp_path)] == ["000003", "000004", "000005"]


def test_ok_goes_before_ng_and_unknown_but_for_what_is_borderline_or_was_asked_for(tmp_path):
    here = folder(tmp_path, max_bytes=6 * 102)
    kept = [save(here, 1, "NG"), save(here, 2, "OK", word="-borderline"), save(here, 3, "OK", word="-asked")]
    gone = [save(here, 4, "OK"), save(here, 5, "OK")]
    kept += [save(here, seq, "UNKNOWN") for seq in (6, 7, 8)]
    assert stems(tmp_path) == sorted(stem.rpartition("/")[2] for stem in kept)
    assert not any((tmp_path / f"{stem}.png").exists() for stem in gone)


def test_no_byte_more_than_the_quota_is_ever_there(tmp_path):
    here = folder(tmp_path, max_bytes=1000)
    for seq in range(30):
        save(here, seq, size=50 + 13 * seq % 300)
        assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 1000


def test_what_is_too_old_goes_whatever_its_verdict_and_takes_its_folders_along(tmp_path):
    before = folder(tmp_path)
    old = save(before, 1)
    os.utime(tmp_path / f"{old}.json", (0, time.time() - 3 * 86_400))
    here = folder(tmp_path, max_days=2.0)
    here.tidy()
    assert [path for path in tmp_path.iterdir() if path.name != INCOMING] == []


@pytest.mark.parametrize(
    "torn",
    [
        {".png": b"pixels"},  # the process ended before the record was in its place
        {".png": b"", ".json": b"{}"},  # the power went: the name was written and the pixels were not
        {".png": b"pixels", ".json": b""},  # the same of the record
    ],
)
def test_pieces_that_are_not_whole_go_at_the_start(torn, tmp_path):
    folder(tmp_path)
    (tmp_path / DAY).mkdir(parents=True)
    for ending, content in torn.items():
        (tmp_path / f"{DAY}/covers-000001-NG-1a2b3c4d{ending}").write_bytes(content)
    save(folder(tmp_path), 2)
    assert sorted(path.name for path in (tmp_path / DAY).iterdir()) == [
        "covers-000002-NG-1a2b3c4d.json",
        "covers-000002-NG-1a2b3c4d.png",
    ]


KILLED = """
import os, signal, sys, time
from pathlib import Path
import numpy as np
from tests.evidence.conftest import Kept, make_outcome

def write(turn, saved):
    image = np.random.default_rng(turn).integers(0, 255, (240, 320, 3)).astype(np.uint8)
    with Kept(Path(sys.argv[1]), max_files=12) as here:
        for seq in range(1, 10_000):
            trace_id = f"run{turn}-covers-{seq:06d}"
            here.put(make_outcome(seq, trace_id=trace_id, region_xyxy=(3.0, 3.0, 90.0, 90.0)), image)
            here.settled()
            os.write(saved, b".")

for turn in range(8):
    read, saved = os.pipe()
    child = os.fork()  # this process has no thread
    if child == 0:
        write(turn, saved)
    for _ in range(1 + turn):
        assert os.read(read, 1) == b"."
    time.sleep(0.0023 * turn)  # somewhere in the next picture
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(read), os.close(saved)
"""


def test_kill_9_at_any_moment_leaves_no_half_and_no_empty_picture(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, check=True, timeout=100)
    folder(tmp_path / "evidence")  # the next start: it throws away what the last kill met half-way
    records = list((tmp_path / "evidence").rglob("*.json"))
    assert len(records) >= 10
    for record in records:
        note = read_record(record.read_bytes()).replay.picture
        decode(note, record.with_suffix(note.ending).read_bytes())
    files = [path for path in (tmp_path / "evidence").rglob("*") if path.is_file()]
    assert {path.name.partition(".")[0] for path in files} == {path.stem for path in files if path.suffix == ".json"}
