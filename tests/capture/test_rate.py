"""The measured rate."""

import pytest

from app.capture.rate import Rate

SECOND_NS = 1_000_000_000


@pytest.mark.parametrize(
    ("arrived_s", "expected"),
    [
        ([], None),
        ([3.0], None),
        ([3.0, 3.0], None),  # no division by zero
        ([3.0, 3.1, 3.2], 10.0),
        ([0.0] + [100.0 + tick / 25 for tick in range(40)], 25.0),  # an old gap is forgotten
    ],
)
def test_the_rate_is_that_of_the_last_pictures(arrived_s, expected):
    rate = Rate()
    for time_s in arrived_s:
        rate.add(round(time_s * SECOND_NS))
    assert rate.per_second == (expected if expected is None else pytest.approx(expected))


def test_clearing_forgets_all():
    rate = Rate()
    rate.add(1)
    rate.add(2)
    rate.clear()
    assert rate.per_second is None
