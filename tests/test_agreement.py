"""Which boxes of two looks are the same, which were lost, which invented, and what that means in words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agreement import Thresholds, by_class, by_verdict, compare, ious, refusals, verdict_refusals
from app.config.verify import Verify
from app.detections import Detections
from app.verdict import Verdict

NAMES = ("screw", "scratch")
AT_HALF = Thresholds(other=0.5, slack=0.05)
OK, NG, UNKNOWN = Verdict.OK, Verdict.NG, Verdict.UNKNOWN


def seen(*rows, angles=None):
    """Detections from rows of class name, score and corners."""
    return Detections(
        np.asarray([corners for _, _, corners in rows], np.float32).reshape(-1, 4),
        np.asarray([score for _, score, _ in rows], np.float32),
        np.asarray([NAMES.index(name) for name, _, _ in rows], np.int64),
        NAMES,
        None if angles is None else np.asarray(angles, np.float32),
    )


def lost_and_invented(before, after, thresholds=AT_HALF):
    pairing = compare(before, after, thresholds).pairing
    return pairing.lost.tolist(), pairing.invented.tolist()


BOX, MOVED, AWAY = (10, 10, 50, 50), (12, 10, 52, 50), (100, 10, 140, 50)

CASES = [
    # the same box twice
    ([("screw", 0.9, BOX)], [("screw", 0.9, BOX)], [], []),
    # moved a little, and less sure of it: still the same object
    ([("screw", 0.9, BOX)], [("screw", 0.6, MOVED)], [], []),
    # gone
    ([("screw", 0.9, BOX)], [], [0], []),
    # there in addition
    ([], [("screw", 0.9, BOX)], [], [0]),
    # at another place: one lost, one invented
    ([("screw", 0.9, BOX)], [("screw", 0.9, AWAY)], [0], [0]),
    # another class at the same place: one lost, one invented
    ([("screw", 0.9, BOX)], [("scratch", 0.9, BOX)], [0], [0]),
    # fell just under the threshold: not lost, the scores tell
    ([("screw", 0.52, BOX)], [("screw", 0.47, BOX)], [], []),
    # rose just over it: not invented
    ([("screw", 0.46, BOX)], [("screw", 0.51, BOX)], [], []),
    # fell far under it: lost
    ([("screw", 0.52, BOX)], [("screw", 0.40, BOX)], [0], []),
    # both under it: nobody's business
    ([("screw", 0.47, BOX)], [("screw", 0.30, BOX)], [], []),
    # one box can't stand for two
    ([("screw", 0.9, BOX), ("screw", 0.8, MOVED)], [("screw", 0.9, BOX)], [1], []),
    # a doubtful box that lies nearer does not take a sure one's partner
    ([("screw", 0.9, MOVED), ("screw", 0.47, BOX)], [("screw", 0.9, BOX)], [], []),
]


@pytest.mark.parametrize(("before", "after", "lost", "invented"), CASES)
def test_boxes_are_paired_by_class_and_overlap(before, after, lost, invented):
    assert lost_and_invented(seen(*before), seen(*after)) == (lost, invented)


def test_each_class_has_its_own_threshold():
    faint = seen(("screw", 0.35, BOX), ("scratch", 0.35, AWAY))
    assert lost_and_invented(faint, Detections.none(NAMES), Thresholds((0.5, 0.3), 0.5)) == ([1], [])


def test_a_look_must_go_down_to_the_lowest_threshold_less_the_slack():
    assert Thresholds((0.5, 0.3), 0.4, slack=0.1).floor == pytest.approx(0.2)
    assert Thresholds((0.02,), 0.4, slack=0.1).floor > 0


def test_a_box_that_is_not_a_number_overlaps_nothing():
    broken = seen(("screw", 0.9, (np.nan, 0, 10, np.inf)))
    assert lost_and_invented(seen(("screw", 0.9, BOX)), broken) == ([0], [0])


def test_rotated_boxes_are_turned_before_they_are_compared():
    bar = ("screw", 0.9, (0, 40, 100, 60))
    level, upright = seen(bar, angles=[0.0]), seen(bar, angles=[-np.pi / 2])
    # They cross in a square of 20 x 20 and are 2,000 px² each.
    assert ious(level, upright)[0, 0] == pytest.approx(400 / 3600, rel=1e-3)
    assert ious(level, seen(bar, angles=[np.pi]))[0, 0] == pytest.approx(1, rel=1e-3)
    assert lost_and_invented(level, upright) == ([0], [0])


def test_a_class_is_summed_up_over_all_pictures():
    pictures = [
        compare(seen(("screw", 0.9, BOX), ("scratch", 0.8, AWAY)), seen(("screw", 0.8, BOX)), AT_HALF),
        compare(seen(("screw", 0.7, BOX)), seen(("screw", 0.7, MOVED), ("scratch", 0.9, AWAY)), AT_HALF),
    ]
    screw, scratch = by_class(pictures)
    assert (screw.name, screw.reference, screw.candidate, screw.lost, screw.invented) == ("screw", 2, 2, 0, 0)
    assert screw.iou_least == pytest.approx(38 / 42, rel=1e-5)
    assert screw.iou_mean == pytest.approx((1 + 38 / 42) / 2, rel=1e-5)
    assert (screw.score_mean, screw.score_most) == (pytest.approx(0.05), pytest.approx(0.1))
    assert (scratch.name, scratch.reference, scratch.candidate, scratch.lost, scratch.invented) == (
        *("scratch", 1, 1, 1, 1),
    )


def test_a_lost_class_is_refused_by_name_and_number():
    some = [compare(seen(("scratch", 0.9, BOX)), seen(*rows), AT_HALF) for rows in [[("scratch", 0.9, BOX)]] * 9]
    none = [compare(seen(("scratch", 0.9, BOX)), Detections.none(NAMES), AT_HALF)] * 3
    assert list(refusals(by_class(some + none), Verify())) == [
        "class scratch: 3 of 12 lost, at most 2% may be (max_lost)"
    ]
    assert list(refusals(by_class(some + none), Verify(max_lost=0.25))) == []


LIMITS = [
    # what is found beside nothing of the model's
    ([], [("scratch", 0.9, BOX)], "1 invented beside the model's 0"),
    # boxes that moved
    ([("screw", 0.9, BOX)], [("screw", 0.9, (18, 10, 58, 50))], "overlap the model's by 0.667 on average"),
    # scores that fell
    ([("screw", 0.9, BOX)], [("screw", 0.8, BOX)], "differ by 0.100 on average"),
]


@pytest.mark.parametrize(("before", "after", "said"), LIMITS)
def test_every_limit_says_what_was_found_and_what_is_allowed(before, after, said):
    (line,) = refusals(by_class([compare(seen(*before), seen(*after), AT_HALF)]), Verify())
    assert said in line
    assert "(m" in line, "the key to change is named"


def test_an_escape_weighs_more_than_a_reject():
    verdicts = by_verdict([(OK, OK), (NG, NG), (NG, OK), (NG, UNKNOWN), (OK, NG)])
    assert (verdicts.pictures, verdicts.same, verdicts.escapes, verdicts.rejects) == (5, 2, 2, 1)
    lines = list(verdict_refusals(verdicts, Verify()))
    assert lines[0].startswith("verdicts: 2 of 5 pictures are NG for the model and not for the candidate")
    assert lines[1].startswith("verdicts: 2 of 5 pictures keep theirs, 98% must")
    assert list(verdict_refusals(by_verdict([(OK, OK)] * 99 + [(OK, NG)]), Verify())) == []


boxes = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.floats(0.0625, 1, width=32),
        st.tuples(*[st.integers(0, 60)] * 2, *[st.integers(1, 40)] * 2).map(
            lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
        ),
    ),
    max_size=12,
)


@given(boxes, boxes)
def test_every_box_that_counts_is_paired_once_or_alone(before, after):
    compared = compare(seen(*before), seen(*after), AT_HALF)
    pairing = compared.pairing
    for side, rows, alone in ((0, pairing.reference, pairing.lost), (1, pairing.candidate, pairing.invented)):
        paired = pairing.pairs[:, side].tolist()
        assert len(paired) == len(set(paired))
        assert set(rows.tolist()) <= set(paired) | set(alone.tolist())
        assert set(alone.tolist()) <= set(rows.tolist())
        assert not set(paired) & set(alone.tolist())
    assert (pairing.ious >= 0.5).all()


@given(boxes)
def test_a_look_agrees_with_itself(rows):
    compared = compare(seen(*rows), seen(*rows), AT_HALF)
    assert len(compared.pairing.lost) == len(compared.pairing.invented) == 0
    assert np.allclose(compared.pairing.ious, 1)


def test_more_that_fall_under_the_threshold_than_rise_over_it_is_a_weaker_network():
    fell = compare(seen(("scratch", 0.52, BOX)), seen(("scratch", 0.48, BOX)), AT_HALF)
    rose = compare(seen(("scratch", 0.48, BOX)), seen(("scratch", 0.52, BOX)), AT_HALF)
    (row,) = by_class([fell, fell, rose])
    assert (row.reference, row.candidate, row.lost, row.invented, row.fell, row.rose) == (2, 1, 0, 0, 2, 1)
    assert list(refusals([row], Verify())) == [], "one more may be chance"
    (line,) = refusals(by_class([fell, fell]), Verify())
    assert line == (
        "class scratch: 2 of 2 fell under the threshold and 0 rose over it, at most 2% more may fall (max_lost)"
    )


def test_a_class_without_a_pair_has_no_means():
    lost = [compare(seen(("screw", 0.9, BOX)), Detections.none(NAMES), AT_HALF)]
    assert [row.is_paired for row in by_class(lost)] == [False]
    fell = [compare(seen(("screw", 0.52, BOX)), seen(("screw", 0.48, BOX)), AT_HALF)]
    assert [row.is_paired for row in by_class(fell)] == [True]
