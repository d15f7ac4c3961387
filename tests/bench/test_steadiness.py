"""How steady the line is, beside the bare engine."""

import io

import pytest
from rich.console import Console

from app.bench import steadiness
from app.bench.steadiness import Steadiness, measure_steadiness
from app.config import load
from app.latency.percentiles import percentiles
from tests.conftest import ROOT


def times_ms(usual: float, tail: float, worst: float) -> list[float]:
    """10,000 times: most are usual, two in a hundred are in the tail, two in a thousand are worst."""
    return [usual] * 9780 + [tail] * 200 + [worst] * 20


@pytest.mark.parametrize(
    ("line", "met"),
    [
        (times_ms(20, 25, 50), [True, True, True]),
        (times_ms(20, 31, 50), [False, True, False]),  # the tail is too long, and longer than the engine's
        (times_ms(20, 25, 61), [True, False, True]),  # a few in a thousand take too long
        (times_ms(20, 27, 50), [True, True, False]),  # steady, but not as steady as the engine alone
    ],
)
def test_the_tail_is_held_against_the_median_and_against_the_bare_engine(line, met):
    bare = percentiles(times_ms(18, 23, 30))
    found = Steadiness(20.0, percentiles(line), bare, overwritten=0)
    assert [row.met for row in found.rows()] == met


def test_line_and_bare_loop_take_turns_and_both_are_printed(monkeypatch):
    monkeypatch.setattr(steadiness, "BLOCKS", 2)
    console = Console(file=io.StringIO(), width=140)
    found = measure_steadiness(console, load(ROOT / "configs" / "demo.yaml"), frames=20)
    assert found.bare.count == 20
    assert found.line.count + found.overwritten == 20
    for word in (
        "the line, exposure to broker",
        "bare loop of the engine",
        "p99 of the total",
        "makes the line's tail",
    ):
        assert word in console.file.getvalue()
