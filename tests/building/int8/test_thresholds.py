"""Where a range ends."""

import numpy as np
import pytest

from app.building.int8.histogram import Histogram
from app.building.int8.thresholds import LEVELS, THRESHOLDS, entropy, min_max, percentile, ranges


def of(*pieces: np.ndarray) -> Histogram:
    histogram = Histogram()
    for piece in pieces:
        histogram.add(piece)
    return histogram


def loss(values: np.ndarray, end: float) -> float:
    """The mean square error of values in INT8 with a range up to `end`."""
    step = end / (LEVELS - 1)
    return float(np.mean((np.clip(np.round(values / step), -LEVELS, LEVELS - 1) * step - values) ** 2))


BELL = np.random.default_rng(1).normal(0, 1, 200_000).astype(np.float32)
OUTLIER = np.array([80.0], np.float32)


def test_min_max_takes_all() -> None:
    assert min_max(of(BELL, -OUTLIER)) == 80.0


@pytest.mark.parametrize("percent", [90.0, 99.0, 99.9, 99.99])
def test_a_percentile_is_numpys_to_a_bin(percent: float) -> None:
    histogram = of(BELL)
    assert percentile(histogram, percent) == pytest.approx(
        np.percentile(np.abs(BELL), percent), abs=histogram.step * 1.5
    )


def test_entropy_does_not_stretch_the_range_for_one_outlier() -> None:
    end = entropy(of(BELL, OUTLIER))
    assert 2.5 < end < 8
    assert loss(BELL, end) < loss(BELL, 80.0) / 10


def test_entropy_keeps_nearly_all_of_an_even_spread() -> None:
    even = np.random.default_rng(2).uniform(-1, 1, 100_000).astype(np.float32)
    assert entropy(of(even)) > 0.95


@pytest.mark.parametrize("name", THRESHOLDS)
@pytest.mark.parametrize(
    ("values", "end"),
    [
        (np.zeros(10, np.float32), 1.0),  # always zero: any range will do, a scale of 0 will not
        (np.full(10, 5.0, np.float32), 5.0),  # one value
        (np.array([0.0, 1e-20], np.float32), 1e-20),  # next to nothing
    ],
)
def test_every_calibrator_gives_a_range_that_can_be_divided_by(name: str, values: np.ndarray, end: float) -> None:
    found = ranges({"x": of(values)}, THRESHOLDS[name])["x"]
    assert found > 0
    assert found == pytest.approx(end)
