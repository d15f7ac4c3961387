"""Pauses before a lost source is opened again."""

import pytest

from app.capture.backoff import pause_s
from app.config.sections import Reopen

REOPEN = Reopen(first_s=0.5, max_s=10.0, jitter=0.2)


def test_the_pause_doubles_up_to_its_bound():
    assert [pause_s(REOPEN, failures, 0.0) for failures in (1, 2, 3, 5, 6, 1000)] == [0.5, 1.0, 2.0, 8.0, 10.0, 10.0]


@pytest.mark.parametrize(("chance", "expected_s"), [(0.0, 0.5), (0.5, 0.45), (1.0, 0.4)])
def test_a_share_of_it_is_random_and_only_makes_it_shorter(chance, expected_s):
    assert pause_s(REOPEN, 1, chance) == pytest.approx(expected_s)
