"""A real pass over the demo line's stages, and a slowdown that was planted in one of them."""

import itertools
from pathlib import Path
from statistics import median

import pytest

from app.bench.meter import measure, one_pass
from app.bench.reference import references
from app.bench.stages import REFERENCES, Stage
from app.errors import TaktsightError
from tests.conftest import ROOT

DEMO = ROOT / "configs" / "demo.yaml"


def work() -> object:
    return sorted(range(3000), key=lambda number: number * 7919 % 3001)


def test_a_pass_measures_every_stage_of_the_line_beside_its_reference():
    found = one_pass(DEMO)
    assert {name: one.reference for name, one in found.items()} == REFERENCES
    assert all(one.ratio > 0 and one.ms > 0 for one in found.values())


def test_a_planted_slowdown_by_30_percent_is_measured_as_one():
    ratios, units = [], references()
    for _ in range(25):  # a neighbour may disturb most of them
        stages = [Stage("plain", "python", work), Stage("slow", "python", work).slowed(1.3)]
        found = measure(stages, units, rounds=5)
        ratios.append(found["slow"].ratio / found["plain"].ratio)
        if len(ratios) >= 5 and 1.15 < median(ratios) < 1.45:
            break
    assert 1.15 < median(ratios) < 1.45, ratios


def test_a_slowed_stage_does_its_work_once_and_then_some_time_longer():
    calls, passed_ns = [], itertools.count()  # each look at this clock takes 1 ns
    jumped_ns = []

    def one_work():
        calls.append(1)
        jumped_ns.append(1000)

    def clock_ns():
        return next(passed_ns) + sum(jumped_ns)

    Stage("slow", "python", one_work, clock_ns).slowed(3.0).run()
    assert calls == [1]
    assert 3000 <= clock_ns() < 3010


@pytest.mark.parametrize(
    ("line", "slowed", "words"),
    [
        (Path("not_there.yaml"), {}, "not_there.yaml"),
        (DEMO, {"decoding": 1.3}, "decoding"),  # a plant in no stage would prove nothing
    ],
)
def test_a_pass_that_can_not_run_says_why_in_one_line(line, slowed, words):
    with pytest.raises(TaktsightError, match=words) as caught:
        one_pass(line, slowed)
    assert "\n" not in str(caught.value)
