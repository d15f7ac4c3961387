"""Many cameras on one engine: that the measurement works; what it measures is for a quiet machine."""

import pytest
from rich.console import Console

from app.bench.many import Row as Measured
from app.bench.many import jain, main, table_of


@pytest.mark.parametrize(
    ("shares", "index"),
    [
        ([5, 5, 5], 1.0),
        ([9, 0, 0], 1 / 3),  # one has all
        ([2, 1], 9 / 10),
        ([0, 0], 0.0),  # nobody has anything
    ],
)
def test_jain_s_index_by_hand(shares, index):
    assert jain(shares) == pytest.approx(index)


def test_the_table_says_what_the_line_keeps_of_the_engine():
    console = Console(record=True, width=160)
    console.print(table_of([Measured(4, 57.0, 60.0, 70.0, [0.95, 0.9, 0.97], 0.999, 40.0, 90.0, 3)]))
    assert "95% (90% … 97%)" in console.export_text()


@pytest.mark.broker
def test_two_cameras_run_and_both_are_looked_at(capsys):
    assert main(["--seconds", "1", "--cameras", "2"]) == 0
    assert "bare loop" in capsys.readouterr().out
