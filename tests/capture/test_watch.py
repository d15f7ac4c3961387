"""When a watched file was written, whatever the clock on the wall says."""

import os
import time
from pathlib import Path

import pytest

from app.capture.watch import _written_ns

HOUR_NS = 3_600_000_000_000
MS = 1_000_000


@pytest.mark.parametrize("step_ns", [-2 * HOUR_NS, 0, 24 * HOUR_NS], ids=["2 h back", "true", "a day ahead"])
def test_ops_05_a_step_of_the_wall_clock_moves_a_file_s_time_by_no_more_than_the_last_look(
    step_ns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "part.jpg"
    path.write_bytes(b"x")
    wall_ns = time.time_ns()
    os.utime(path, ns=(wall_ns, wall_ns))
    monkeypatch.setattr(time, "time_ns", lambda: wall_ns + step_ns)
    looked_ns = time.monotonic_ns() - 100 * MS
    assert looked_ns <= _written_ns(path, looked_ns) <= time.monotonic_ns()


def test_what_was_there_at_the_first_look_counts_from_now(tmp_path: Path) -> None:
    path = tmp_path / "old.jpg"
    path.write_bytes(b"x")
    os.utime(path, ns=(0, 0))
    before_ns = time.monotonic_ns()
    assert _written_ns(path, None) >= before_ns
