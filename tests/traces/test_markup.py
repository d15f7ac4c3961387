"""Elements, numbers and ticks."""

import math
from xml.etree import ElementTree

import pytest

from app.traces.markup import ms, tag, text, ticks


def test_what_a_file_says_can_not_become_markup() -> None:
    evil = "<script>alert('&\"')</script>"
    element = ElementTree.fromstring(tag("p", text(evil), title=evil))
    assert element.text == evil
    assert element.get("title") == evil


def test_names_that_python_can_not_say_are_turned_round_and_empty_ones_left_out() -> None:
    assert tag("rect", stroke_width=1.50, class_="a", id="", rx=None) == '<rect stroke-width="1.5" class="a"></rect>'


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "·"),
        (0.0, "0.0"),
        (0.123, "0.12"),
        (1.25, "1.2"),
        (999.96, "1000.0"),
        (12_345.6, "12,346"),
        (math.inf, "∞"),
    ],
)
def test_milliseconds_have_the_digits_that_mean_something(value: float | None, said: str) -> None:
    assert ms(value) == said


@pytest.mark.parametrize(
    ("limit", "count", "expected"),
    [
        (100, 5, [0, 20, 40, 60, 80, 100]),
        (7, 8, [0, 1, 2, 3, 4, 5, 6, 7]),
        (0.003, 3, [0, 0.001, 0.002, 0.003]),
        (1e7, 2, [0, 5e6, 1e7]),
        (0, 5, [0]),  # nothing took any time
    ],
)
def test_ticks_are_round_numbers(limit: float, count: int, expected: list[float]) -> None:
    assert ticks(limit, count) == pytest.approx(expected)
