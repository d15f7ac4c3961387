"""One frame's life on a terminal."""

import io

import pytest
from rich.console import Console

from app.traces.waterfall import bar_of, print_waterfall
from tests.traces.conftest import MS, USUAL_MS, event, make_frame


def printed(*events, width: int = 120, **more) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_waterfall(make_frame(1, **more), events, console)
    return console.file.getvalue()


def test_every_step_has_its_thread_its_time_and_its_bar() -> None:
    lines = printed(label="belt 7 px", level="no_refine", skipped=["refine"]).splitlines()
    assert lines[0].split()[0] == "run-front-000001"
    for word in ("belt 7 px", "OK", "no_refine", "without refine", "30.3 ms of a budget of 100 ms"):
        assert word in lines[0]
    rows = {line.split()[0]: line for line in lines[2:] if line.split()}
    assert set(USUAL_MS) <= set(rows)
    assert rows["inference"].split()[1:4] == ["inspect", "6.70", "20.00"]
    assert rows["inference"].count("█") > 20
    assert rows["guard"].count("▏") == 1, "the shortest step is seen too"


def test_bars_lie_one_after_the_other() -> None:
    starts = [line.index(mark) for line in printed().splitlines()[2:] for mark in "█▏" if mark in line]
    assert starts == sorted(starts)


def test_a_frame_over_its_budget_says_by_how_much() -> None:
    assert "130.3 ms of a budget of 100 ms, 30.3 ms over it" in printed(inference=120.0)


def test_time_between_the_steps_is_told() -> None:
    row = next(line for line in printed(gap_ms=5).splitlines() if "between steps" in line)
    assert "5.00" in row


def test_what_happened_meanwhile_is_told_and_nothing_else() -> None:
    at_ns = make_frame(1).exposed_ns
    said = printed(
        event("gc", at_ns + 8 * MS, at_ns + 20 * MS, text="a long one"),
        event("level", at_ns - 1, text="too early"),
        event("camera", at_ns + MS, camera="back", text="another camera"),
        event("breach", at_ns + MS, text="another frame"),
    )
    assert "meanwhile: gc at 8.0 ms, 12.0 ms: a long one" in said
    assert "too early" not in said
    assert "another" not in said


def test_a_frame_passed_over_says_so() -> None:
    assert "passed over by the gate" in printed(fate="skipped", verdict=None, publish=None, present=None)


@pytest.mark.parametrize("width", [60, 80, 300])
def test_it_fits_terminals_of_any_width(width: int) -> None:
    assert "inference" in printed(width=width)


@pytest.mark.parametrize(
    ("began", "ended", "drawn"),
    [
        (0, 100, "██████████"),  # all of it
        (0, 50, "█████"),
        (50, 100, "     █████"),
        (99, 100, "         ▏"),  # the last moment
        (100, 100, "         ▏"),  # at the very end, still inside
        (0, 1, "▏"),
    ],
)
def test_a_bar_lies_in_its_place(began: int, ended: int, drawn: str) -> None:
    assert bar_of(began, ended, 0, 100, 10).plain == drawn
