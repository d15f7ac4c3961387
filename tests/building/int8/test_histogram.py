"""How large values get, counted picture after picture."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.building.int8.histogram import BINS, Histogram

PIECES = st.lists(st.lists(st.floats(-1000, 1000, width=32), min_size=1, max_size=20), min_size=1, max_size=8)


@given(PIECES)
def test_nothing_is_lost_whatever_order_the_large_values_come_in(pieces: list[list[float]]) -> None:
    histogram = Histogram()
    for piece in pieces:
        histogram.add(np.array(piece, np.float32))
    every = np.abs(np.concatenate([np.array(piece, np.float32) for piece in pieces]))
    assert histogram.counts.sum() == every.size
    assert histogram.largest == every.max()
    assert histogram.top >= every.max()


def test_a_range_that_doubles_keeps_values_in_their_place() -> None:
    histogram = Histogram()
    histogram.add(np.array([1.0, 0.25]))
    histogram.add(np.array([3.9]))
    assert histogram.top == 4.0
    places = np.flatnonzero(histogram.counts) * histogram.step
    np.testing.assert_allclose(places, [0.25, 1.0, 3.9], atol=histogram.step * 1.01)


def test_zeros_alone_need_no_range() -> None:
    histogram = Histogram()
    histogram.add(np.zeros((2, 3)))
    assert (histogram.top, histogram.counts[0], len(histogram.counts)) == (0.0, 6, BINS)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_none_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        Histogram().add(np.array([1.0, bad]))
