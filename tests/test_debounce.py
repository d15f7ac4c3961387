"""A verdict that changes only after so many equal ones in a row."""

import pytest

from app.debounce import Change, Debounce
from app.verdict import Verdict

OK, NG, UNKNOWN = Verdict.OK, Verdict.NG, Verdict.UNKNOWN
TENTH_NS = 100_000_000


def series(needed, raw):
    """Run verdicts at 10 fps, None for a frame that was skipped; return the steady verdicts and the changes."""
    debounce = Debounce(needed)
    steady, changes = [], []
    for index, verdict in enumerate(raw):
        if verdict is not None and (change := debounce.see(verdict, index * TENTH_NS)):
            changes.append(change)
        steady.append(debounce.verdict)
    return steady, changes


def test_roi_06_an_object_that_left_is_gone_at_once_raw_and_after_the_row_debounced():
    raw = [NG, OK, OK, OK, OK]  # there in frame 0 only
    assert series(1, raw)[0] == [NG, OK, OK, OK, OK]
    assert series(2, [NG, NG, OK, OK, OK])[0] == [None, NG, NG, OK, OK]
    assert series(3, raw)[0] == [None, None, None, OK, OK]


def test_roi_07_flicker_does_not_come_through():
    flicker = [NG, OK, NG, NG, OK, NG]
    assert series(3, [OK, OK, OK, *flicker])[0] == [None, None, *[OK] * 7]
    assert series(3, [OK, OK, OK, *flicker, NG, NG])[0] == [None, None, *[OK] * 8, NG]
    assert series(3, flicker) == ([None] * 6, [])


def test_roi_07_the_time_of_a_change_is_that_of_the_sightings_not_of_the_row_s_end():
    _, changes = series(3, [OK, OK, OK, NG, OK, NG, NG, NG])
    assert changes == [
        Change(OK, None, since_ns=0, until_ns=None, noticed_ns=2 * TENTH_NS),
        Change(NG, OK, since_ns=5 * TENTH_NS, until_ns=4 * TENTH_NS, noticed_ns=7 * TENTH_NS),
    ]


def test_roi_07_frames_without_a_verdict_are_neither_hit_nor_miss():
    steady, changes = series(3, [NG, None, NG, None, None, NG])
    assert steady == [None] * 5 + [NG]
    assert changes == [Change(NG, None, since_ns=0, until_ns=None, noticed_ns=5 * TENTH_NS)]


def test_roi_07_another_camera_s_frames_do_not_count():
    left, right = Debounce(3), Debounce(3)
    for n in range(2):
        left.see(NG, n)
        right.see(NG, n)
    assert (left.verdict, right.verdict) == (None, None)
    left.see(NG, 2)
    assert (left.verdict, right.verdict) == (NG, None)


def test_unknown_is_a_verdict_like_the_others():
    assert series(2, [OK, OK, UNKNOWN, UNKNOWN, OK])[0] == [None, OK, OK, UNKNOWN, UNKNOWN]


def test_a_row_of_nought_is_refused():
    with pytest.raises(ValueError, match="1 or more"):
        Debounce(0)
