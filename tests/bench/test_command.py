"""What the bench is asked to do, and what it is not."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from app.bench.command import Wanted, bench, planted
from app.errors import ConfigError

LINE = Path("line.yaml")


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (Wanted(config=LINE), "what of this line"),  # a line, and nothing to measure of it
        (Wanted(without="decode", steady=True), "--without and --steady"),  # two things at once
        (Wanted(save=LINE, against=LINE), "--save and --against"),
        (Wanted(plant="decode=1.3"), "--plant belongs to --against"),
        (Wanted(cameras=2, quick=True), "--quick and --json"),  # options of the other table
        (Wanted(config=LINE, steady=True), "line.yaml"),  # no such file
    ],
)
def test_options_that_do_not_go_together_are_refused(wanted, words):
    with pytest.raises(ConfigError, match=words):
        bench(wanted, Console(file=io.StringIO()))


def test_a_plant_is_a_stage_and_a_factor():
    assert planted("") == {}
    assert planted("left: decode=1.3") == {"left: decode": 1.3}


@pytest.mark.parametrize("text", ["decode", "=1.3", "decode=", "decode=x"])
def test_what_is_no_plant_is_refused_with_an_example(text):
    with pytest.raises(ConfigError, match=r"decode=1\.3"):
        planted(text)
