"""One line a second."""

from __future__ import annotations

from app.latency.rarely import Rarely


def test_one_line_a_second_goes_through_and_says_how_many_were_held_back(clock):
    lines = []
    rarely = Rarely(lines.append, clock)
    for number in range(10):
        rarely(f"line {number}")
        clock.advance(0.25)
    assert lines == ["line 0", "line 4 (and 3 more)", "line 8 (and 3 more)"]


def test_a_line_that_nothing_came_before_goes_through_at_once_and_as_it_is(clock):
    lines = []
    rarely = Rarely(lines.append, clock)
    rarely("first")
    clock.advance(5)
    rarely("second")
    assert lines == ["first", "second"]
