"""Alerts: with hysteresis, and seldom."""

import pytest

from app.latency.alert import Alert, Change, Limit

S = 1_000_000_000
R, C = Change.RAISED, Change.CLEARED


@pytest.mark.parametrize(
    ("is_least", "values", "said"),
    [
        (False, [100, 100.1, 150, 95, 90, 89], [None, R, None, None, C, None]),  # on the limit is within it
        (False, [99, 101, 99, 101, 99], [None, R, None, None, None]),  # around the limit it is said once
        (True, [50, 49, 54, 56, 60], [None, R, None, C, None]),  # a least value
        (False, [101, None, 80], [R, None, C]),  # what can't be told changes nothing
    ],
)
def test_a_value_out_of_bounds_is_said_once_and_so_is_its_return(is_least, values, said):
    alert = Alert(Limit(50 if is_least else 100, is_least))
    assert [alert.see(value, minute * 60 * S) for minute, value in enumerate(values)] == said


def test_an_alert_says_something_at_most_once_a_minute():
    alert = Alert(Limit(100))
    said = [(at_s, change) for at_s in range(200) if (change := alert.see(200 if at_s % 2 else 1, at_s * S))]
    assert said == [(1, R), (62, C), (123, R), (184, C)]
    assert (alert.raised, alert.is_raised) == (2, False)
