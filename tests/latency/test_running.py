"""A percentile that is kept up to date."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.latency.percentiles import percentile
from app.latency.running import Running

TIMES = st.lists(st.floats(0, 1e4), min_size=1, max_size=60)


@given(TIMES)
def test_it_is_the_nearest_rank_of_the_last_samples(samples):
    running = Running(20, "95")
    for sample in samples:
        running.add(sample)
    assert running.value == percentile(sorted(samples[-20:]), "95")
    assert len(running) == min(len(samples), 20)


def test_it_is_0_without_samples_and_again_once_it_is_cleared():
    running = Running(5, "95")
    assert running.value == 0
    running.add(3.0)
    running.clear()
    assert (running.value, len(running)) == (0, 0)
