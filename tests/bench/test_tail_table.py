"""Which stage makes the tail of a line under test."""

import pytest

from app.bench.tail_table import extras, tail_table


def frames(slow_inference: float) -> list[dict[str, float | None]]:
    """Return 198 usual frames and two slow ones, whose network is a little slower as well."""
    usual = {"wait": 0.1, "inference": 13.0, "network": 1.0, "presentation": None}
    return [usual] * 198 + [{**usual, "inference": slow_inference, "network": 1.5}] * 2


def test_the_stage_that_adds_most_to_slow_frames_comes_first() -> None:
    found = extras(frames(16.0))
    assert [one.stage for one in found] == ["inference", "network", "wait"], "what never ran is left out"
    assert [one.extra for one in found] == pytest.approx([3.0, 0.5, 0.0])
    assert (found[0].usual, found[0].slow) == (13.0, 16.0)


def test_it_is_the_network_where_that_is_what_is_slow() -> None:
    assert extras(frames(13.0))[0].stage == "network"


def test_of_few_frames_the_slowest_one_is_the_tail_and_of_none_there_is_none() -> None:
    assert extras([{"inference": 1.0}, {"inference": 4.0}])[0].slow == 4.0
    assert extras([]) == []
    assert tail_table(frames(16.0)).row_count == 3
