"""What a process of its own costs a camera: how that is measured."""

import subprocess
import sys

from app.bench.isolate import APART, HERE, Way, cpu_s, table, take_turns, ways_of
from app.capture.scripted import Scripted
from app.frame import Picture
from tests.conftest import ROOT

MS = 1_000_000


def test_ages_are_from_the_exposure_to_the_hand_over_and_the_first_pictures_do_not_count():
    pictures = [Picture(b"", 0, number * MS) for number in range(1, 21)]
    way = Way(lambda: Scripted([*pictures[:12], None, *pictures[12:]]))
    way.turn(5)
    assert way.ages_ms == [11, 12, 13, 14], "none of ten to warm up, and a read that gave nothing"
    assert way.cpu_s > 0


def test_both_ways_are_measured_on_a_real_process_and_shown():
    ways = ways_of((64, 48), 200.0)
    take_turns(ways, 1, 3)
    (names, counts, *_) = (list(column.cells) for column in table((64, 48), ways).columns)
    assert names == [HERE, APART]
    assert counts == ["3", "3"]


def test_the_time_of_a_process_that_runs_counts():
    busy = "import sys\nwhile __import__('time').process_time() < 0.5: pass\nprint('', flush=True)\nsys.stdin.read()"
    began_s = cpu_s()
    with subprocess.Popen(
        [sys.executable, "-c", busy], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        took_s = cpu_s() - began_s
        process.stdin.close()
    assert took_s >= 0.45
