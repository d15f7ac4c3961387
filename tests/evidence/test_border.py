"""How near a picture came to another verdict."""

import numpy as np
import pytest

from app.config.sections import CountRule, ForbidRule, Judge, RequireRule
from app.detections import Detections
from app.evidence.border import Border

NAMES = ("cover", "screw", "hole", "scratch")
SECTION = Judge(
    score=0.5,
    scores={"screw": 0.4},
    rules=[
        CountRule(count="screw", equals=4),
        ForbidRule(forbid="hole", min_score=0.7),
        RequireRule(require="cover"),
    ],
)


def found(*boxes, **flags):
    scores = np.asarray([score for _, score in boxes], np.float32)
    classes = np.asarray([NAMES.index(name) if name in NAMES else 9 for name, _ in boxes], np.int64)
    return Detections(np.zeros((len(boxes), 4), np.float32), scores, classes, NAMES, **flags)


@pytest.mark.parametrize(
    ("boxes", "nearest"),
    [
        ([("screw", 0.42)], 0.02),  # counts, barely
        ([("screw", 0.37)], 0.03),  # nearly counts
        ([("hole", 0.66)], 0.04),  # a rule's own threshold is the one that decides, not the class's
        ([("screw", 0.9), ("cover", 0.55)], 0.05),  # the nearest of all
        ([("scratch", 0.5)], None),  # no rule names it
        ([("nobody", 0.5)], None),  # a class without a name
        ([("screw", float("nan"))], None),
        ([], None),
    ],
)
def test_the_nearest_threshold_of_a_rule_on_either_side(boxes, nearest):
    _, distance = Border(SECTION, NAMES)(found(*boxes))
    assert distance == (None if nearest is None else pytest.approx(nearest, abs=1e-6))


def test_a_cap_that_only_the_margin_reached_is_none():
    border = Border(SECTION, NAMES, certain=0.4)
    for flag in ("truncated", "saturated"):
        weak, _ = border(found(("screw", 0.9), ("screw", 0.37), **{flag: True}))
        strong, _ = border(found(("screw", 0.9), ("screw", 0.45), **{flag: True}))
        assert (getattr(weak, flag), getattr(strong, flag)) == (False, True)


def test_a_cap_stays_where_the_look_was_asked_for_no_more_than_the_rules_need():
    seen, _ = Border(SECTION, NAMES)(found(("screw", 0.2), saturated=True))
    assert seen.saturated
