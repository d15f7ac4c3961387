"""Rules over detections: OK, NG or UNKNOWN, and why."""

import dataclasses

import numpy as np
import pytest

from app.config.sections import CountRule, ForbidRule, Membership, Region, RequireRule
from app.config.sections import Judge as Section
from app.detections import Detections
from app.errors import ConfigError
from app.judge import Judge
from app.verdict import Code, Reason, Verdict

NAMES = ("cover", "screw", "hole", "brass", "scratch")
SIZE = (960, 720)
PART = (100.0, 100.0, 700.0, 500.0)
FOUR_SCREWS = [("screw", 0.9, (x, y, x + 60, y + 60)) for x in (120, 620) for y in (120, 420)]


def found(*objects, names=NAMES, **flags):
    xyxy = np.asarray([box for _, _, box in objects], np.float32).reshape(-1, 4)
    scores = np.asarray([score for _, score, _ in objects], np.float32)
    classes = np.asarray([names.index(name) for name, _, _ in objects], np.int64)
    return Detections(xyxy, scores, classes, names, **flags)


def judge(*rules, **section):
    return Judge(Section(rules=list(rules), **section), NAMES)


def verdict(rules, objects, part_xyxy=None, **flags):
    return judge(*rules).judge(found(*objects, **flags), SIZE, part_xyxy)


COVERS = (
    RequireRule(require="cover", otherwise="UNKNOWN"),
    CountRule(count="screw", equals=4, region="part"),
    *(ForbidRule(forbid=name, region="part") for name in ("hole", "brass", "scratch")),
)
COVER = ("cover", 0.9, PART)


def test_four_screws_and_nothing_else_are_ok():
    assert verdict(COVERS, [COVER, *FOUR_SCREWS], PART).verdict is Verdict.OK
    assert verdict(COVERS, [COVER, *FOUR_SCREWS], PART).reasons == ()


def test_the_reason_names_what_and_where():
    judgement = verdict(COVERS, [COVER, *FOUR_SCREWS[:3], ("scratch", 0.71, (394, 229, 430, 237))], PART)
    assert judgement.verdict is Verdict.NG
    assert [(reason.code, reason.text, reason.boxes) for reason in judgement.reasons] == [
        (Code.FORBIDDEN, "scratch 0.71 at 412,233 (36×8 px) in part", (4,)),
        (Code.COUNT, "3 × screw in part, needs 4: top left, bottom left, top right", (1, 2, 3)),
    ]


UNLOOKED = Reason(Code.UNLOOKED, "no time for the second look")


@pytest.mark.parametrize(
    ("objects", "says", "codes"),
    [
        ([COVER, *FOUR_SCREWS], Verdict.UNKNOWN, [Code.UNLOOKED]),  # nothing was found, where nobody looked
        ([COVER, *FOUR_SCREWS[:3]], Verdict.UNKNOWN, [Code.UNLOOKED]),  # the fourth may be there
        (
            [COVER, *FOUR_SCREWS, ("hole", 0.9, (300, 300, 340, 340))],
            Verdict.NG,
            [Code.FORBIDDEN, Code.UNLOOKED],
        ),  # what is seen proves a fault
    ],
)
def test_a_doubt_from_outside_is_never_ok_and_takes_nothing_from_a_proof(objects, says, codes):
    judgement = judge(*COVERS).judge(found(*objects), SIZE, PART, (UNLOOKED,))
    assert (judgement.verdict, [reason.code for reason in judgement.reasons]) == (says, codes)


def test_a_neighbour_outside_the_part_is_not_counted():
    neighbour = ("brass", 0.9, (850, 120, 910, 180))
    assert verdict(COVERS, [COVER, *FOUR_SCREWS, neighbour], PART).verdict is Verdict.OK


@pytest.mark.parametrize(
    ("bounds", "counts_ok", "needs"),
    [
        ({"equals": 2}, {2}, "needs 2"),
        ({"equals": 0}, {0}, "needs 0"),
        ({"min": 2}, {2, 3}, "needs at least 2"),
        ({"max": 1}, {0, 1}, "needs at most 1"),
        ({"min": 1, "max": 2}, {1, 2}, "needs 1 to 2"),
    ],
)
def test_counts_are_compared_as_the_rule_says(bounds, counts_ok, needs):
    for n in range(4):
        judgement = verdict([CountRule(count="screw", **bounds)], FOUR_SCREWS[:n])
        assert (judgement.verdict is Verdict.OK) == (n in counts_ok), n
        assert judgement.verdict is Verdict.OK or needs in judgement.reasons[0].text


def test_roi_04_no_detections_fail_a_rule_that_asks_for_one():
    for rule, code in (
        (CountRule(count="screw", min=1), Code.COUNT),
        (RequireRule(require="cover"), Code.MISSING),
    ):
        judgement = judge(rule).judge(Detections.none(NAMES), SIZE)
        assert judgement.verdict is Verdict.NG
        assert judgement.reasons[0].code is code
        assert judgement.reasons[0].boxes == ()


def test_roi_04_no_detections_pass_only_where_nothing_is_asked_to_be_there():
    assert judge(ForbidRule(forbid="scratch")).judge(Detections.none(NAMES), SIZE).verdict is Verdict.OK


def test_thresholds_are_per_class_and_reached_by_an_equal_score():
    rules = [ForbidRule(forbid="scratch"), ForbidRule(forbid="brass")]
    at = (10, 10, 20, 20)
    judged = Judge(Section(rules=rules, score=0.5, scores={"scratch": 0.35}), NAMES)
    assert judged.judge(found(("scratch", 0.35, at)), SIZE).verdict is Verdict.NG
    assert judged.judge(found(("scratch", 0.34, at)), SIZE).verdict is Verdict.OK
    assert judged.judge(found(("brass", 0.45, at)), SIZE).verdict is Verdict.OK
    assert judged.threshold("scratch") == 0.35
    assert judged.threshold("brass") == 0.5


def test_a_forbid_rule_may_ask_for_its_own_score_and_area():
    small, large = ("scratch", 0.3, (10, 10, 15, 20)), ("scratch", 0.3, (10, 10, 20, 20))
    rules = [ForbidRule(forbid="scratch", min_score=0.25, min_area_px=100)]
    assert verdict(rules, [small]).verdict is Verdict.OK
    assert verdict(rules, [large]).verdict is Verdict.NG


def test_the_decoder_s_floor_is_the_least_score_that_anything_asks_for():
    rule = ForbidRule(forbid="brass", min_score=0.2)
    assert judge(rule, score=0.5, scores={"scratch": 0.35}).min_score() == 0.2
    assert judge(ForbidRule(forbid="brass"), score=0.5, scores={"scratch": 0.35}).min_score() == 0.35


def test_nms_07_a_count_at_the_cap_is_unknown_and_says_so():
    many = [("screw", 0.9, (x, 10, x + 2, 12)) for x in range(300)]
    for flag in ({"saturated": True}, {"truncated": True}):
        judgement = verdict([CountRule(count="screw", equals=320)], many, **flag)
        assert judgement.verdict is Verdict.UNKNOWN, flag
        assert judgement.reasons[0].code is Code.CAP_REACHED
        assert judgement.reasons[0].text.startswith("at least 300 × screw, needs 320")


@pytest.mark.parametrize(
    ("rule", "n", "expected"),
    [
        (CountRule(count="screw", equals=4), 4, Verdict.UNKNOWN),  # a fifth may have been cut off
        (CountRule(count="screw", equals=3), 4, Verdict.NG),  # already one too many
        (CountRule(count="screw", min=4), 4, Verdict.OK),  # more would be right too
        (CountRule(count="screw", min=5), 4, Verdict.UNKNOWN),
        (ForbidRule(forbid="screw"), 1, Verdict.NG),  # seen is seen
        (ForbidRule(forbid="brass"), 4, Verdict.UNKNOWN),  # may have been cut off
        (RequireRule(require="screw"), 1, Verdict.OK),
        (RequireRule(require="brass"), 4, Verdict.UNKNOWN),
    ],
)
def test_nms_07_what_the_cap_may_have_hidden_is_unknown_and_what_was_seen_counts(rule, n, expected):
    assert verdict([rule], FOUR_SCREWS[:n], saturated=True).verdict is expected


def test_a_seen_fault_is_ng_beside_a_doubt_and_a_doubt_is_unknown_beside_a_lack():
    no_cover = RequireRule(require="cover", otherwise="UNKNOWN")
    count = CountRule(count="screw", equals=4)
    lacking = verdict([no_cover, count], [])
    assert lacking.verdict is Verdict.UNKNOWN
    assert [reason.code for reason in lacking.reasons] == [Code.NO_PART]
    faulty = verdict([no_cover, count, ForbidRule(forbid="brass")], [("brass", 0.9, (0, 0, 9, 9))])
    assert faulty.verdict is Verdict.NG
    assert [reason.code for reason in faulty.reasons] == [Code.FORBIDDEN, Code.COUNT, Code.NO_PART]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_mq_11_numbers_that_are_not_finite_are_never_ok(bad):
    good = found(COVER, *FOUR_SCREWS)
    for name in ("xyxy", "scores"):
        values = getattr(good, name).copy()
        values[2] = bad
        judgement = judge(*COVERS).judge(dataclasses.replace(good, **{name: values}), SIZE, PART)
        assert judgement.verdict is Verdict.UNKNOWN, name
        assert judgement.reasons[0].code is Code.BAD_OUTPUT
        assert judgement.reasons[0].boxes == (2,)


def test_a_rule_inside_the_part_is_unknown_where_there_is_no_part():
    rules = [CountRule(count="screw", equals=4, region="part"), ForbidRule(forbid="brass", region="part")]
    for part_xyxy in (None, (5.0, 5.0, 5.0, 9.0), (np.nan, 0.0, 9.0, 9.0)):
        judgement = verdict(rules, FOUR_SCREWS, part_xyxy)
        assert judgement.verdict is Verdict.UNKNOWN
        assert [reason.code for reason in judgement.reasons] == [Code.NO_PART]
    assert judge(*rules).needs_part
    assert not judge(CountRule(count="screw", min=1)).needs_part


LEFT = Region(unit="fraction", polygon=[(0.0, 0.0), (0.6, 1.0)])
RIGHT = Region(unit="pixels", polygon=[(480.0, 0.0), (960.0, 720.0)])


def test_roi_03_the_mode_of_membership_is_the_one_asked_for():
    across = ("screw", 0.9, (560, 10, 660, 110))  # LEFT ends at 576: 16 % of it lie inside
    rule = ForbidRule(forbid="screw", region="left")
    for membership, expected in (
        (Membership(), Verdict.OK),
        (Membership(mode="overlap", overlap=0.16), Verdict.NG),
        (Membership(mode="overlap", overlap=0.2), Verdict.OK),
    ):
        judged = judge(rule, regions={"left": LEFT}, membership=membership)
        assert judged.judge(found(across), SIZE).verdict is expected, membership


def test_roi_09_an_object_in_two_regions_counts_in_both_and_once_in_the_total():
    regions = {"left": LEFT, "right": RIGHT}
    rules = [CountRule(count="screw", equals=1, region=name) for name in regions]
    common = ("screw", 0.9, (500, 100, 540, 140))
    judged = judge(*rules, regions=regions)
    assert judged.judge(found(common), SIZE).verdict is Verdict.OK
    tally = judged.tally(found(common, ("hole", 0.9, (0, 0, 9, 9)), ("hole", 0.1, (0, 0, 9, 9))), SIZE)
    assert tally.regions == {"left": 2, "right": 1}
    assert tally.unique == 2


def test_roi_02_a_region_off_the_picture_warns_or_is_unknown():
    low = Region(unit="pixels", polygon=[(0.0, 640.0), (1920.0, 1280.0)])
    judged = judge(ForbidRule(forbid="scratch", region="low"), regions={"low": low})
    assert judged.warnings((1920, 1280)) == ()
    assert judged.warnings((1920, 1080)) == ("regions.low: 31.2% of its area lies outside the 1920×1080 picture",)
    gone = judged.judge(Detections.none(NAMES), (640, 480))
    assert gone.verdict is Verdict.UNKNOWN
    assert gone.reasons[0].code is Code.WRONG_SIZE
    assert "wholly outside the 640×480 picture" in gone.reasons[0].text
    assert judged.warnings((640, 480)) == (gone.reasons[0].text,)


def test_faults_of_the_rules_are_told_all_at_once_with_what_was_meant():
    section = Section(
        rules=[CountRule(count="skrew", equals=4), ForbidRule(forbid="brass", region="lefft")],
        regions={"left": LEFT, "part": RIGHT},
        scores={"rust": 0.3},
    )
    with pytest.raises(ConfigError) as caught:
        Judge(section, NAMES)
    assert caught.value.faults == (
        "judge.scores: there is no class 'rust'; there are: cover, screw, hole, brass, scratch",
        "judge.regions.part: this name is the gate's; choose another one",
        "judge.rules[0]: there is no class 'skrew'; did you mean 'screw'?",
        "judge.rules[1].region: there is no region 'lefft'; did you mean 'left'?",
    )


def test_no_rule_at_all_is_refused_because_everything_would_pass():
    with pytest.raises(ConfigError, match="write at least one rule"):
        Judge(Section(), NAMES)


def test_a_box_whose_area_float32_does_not_hold_is_forbidden_all_the_same():
    """Found by fuzzing: the area overflowed, with a warning at every frame."""
    rule = ForbidRule(forbid="scratch", min_area_px=10)
    assert verdict([rule], [("scratch", 0.9, (0, 0, 94, 3e38))]).verdict is Verdict.NG
