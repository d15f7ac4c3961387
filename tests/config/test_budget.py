"""What a frame is allowed, and how it is shared out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.config.budget import BUDGETS_MS, Shares, budget_ms
from app.latency import budget, monitor
from app.latency.base import Level
from app.trace import STAGES

TUNING = (Path(__file__).parents[2] / "docs" / "tuning.md").read_text(encoding="utf-8")


def rows(title):
    """The first two cells of the table under a heading."""
    text = TUNING.split(f"# {title}\n", 1)[1].split("\n#", 1)[0]
    return re.findall(r"^\| `(\w+)` \| ([\d.]+)", text, re.MULTILINE)


def test_the_named_budgets_and_plain_numbers_are_milliseconds():
    assert (budget_ms("inspection"), budget_ms("surveillance"), budget_ms(33.5)) == (100, 500, 33.5)


def test_the_shares_are_those_of_the_page():
    assert [(name, float(percent)) for name, percent in rows("Shares")] == list(Shares().model_dump().items())


def test_the_named_budgets_are_those_of_the_page():
    assert {name: float(number) for name, number in rows("Budgets")} == BUDGETS_MS


def test_the_levels_are_those_of_the_page():
    section = TUNING.split("# Levels\n", 1)[1].split("\n#", 1)[0]
    assert re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE) == [level.value for level in Level]


def test_the_numbers_of_the_plan_are_those_of_the_page():
    said = dict(re.findall(r"^\| `([A-Z_]+)` \| ([\d.]+)", TUNING, re.MULTILINE))
    assert len(said) == 7
    assert {name: float(number) for name, number in said.items()} == {
        name: float(getattr(monitor if name == "FIRST_FRAMES" else budget, name)) for name in said
    }


def test_every_budgeted_stage_has_a_share_and_a_fifth_is_held_back():
    assert list(Shares().stages_ms(200.0)) == list(STAGES)
    assert Shares().stages_ms(200.0)["inference"] == 70
    assert Shares().reserve == 20


SUMS = [
    # overridden, what is said of the sum, the remedy
    (
        "{inference: 50}",
        "inference 50 + postprocess 15 + network 5 + presentation 5 + reserve 20 = 115",
        "take 15 away",
    ),
    ("{reserve: 0}", "reserve 0 = 80", "add 20"),
]


@pytest.mark.parametrize(("shares", "total", "remedy"), SUMS)
def test_shares_that_do_not_make_100_are_refused_with_the_remedy(faults, small, shares, total, remedy):
    (said,) = faults(small(camera=f"shares: {shares}"))
    assert said.startswith(":6: cameras.front.shares: the shares must make 100 %; capture 15 + preprocess 5 + ")
    assert total in said
    assert remedy in said


def test_a_camera_moves_percents_between_stages(read, small):
    config = read(small(camera="shares: {inference: 50, reserve: 5}")).config
    assert config.cameras["front"].shares.stages_ms(100.0)["inference"] == 50
