"""One camera's second look: as the budget allows, before the verdict, or after a first one."""

from types import SimpleNamespace

from app.detections import Detections
from app.errors import BadOutput
from app.latency.base import Level, Plan
from app.refine.base import Refined, doubts_of
from app.verdict import Code
from tests.frames import frame
from tests.rig import ByHand, Fixed, Rig

REGION = (0, 0, 4, 4)


class Affords(Fixed):
    """A planner that affords so many regions."""

    def __init__(self, regions):
        super().__init__()
        self.max_regions = regions
        self.regions_learned = []

    def regions(self, spent_ms, plan):
        return Plan(Level.FULL if self.max_regions else Level.NO_REFINE, self.max_regions)

    def learn(self, steps_ms, plan, regions=0):
        super().learn(steps_ms, plan, regions)
        if "refine" in steps_ms:
            self.regions_learned.append(regions)


class Second:
    """A second look that does what a test says."""

    def __init__(self, does=lambda: None):
        self.does = does
        self.asked = []

    def run(self, image_hwc, coarse, max_regions):
        self.asked.append(max_regions)
        self.does()
        return Refined(Detections.none(), (REGION,))


def test_the_second_look_gets_as_many_regions_as_the_budget_affords_and_is_timed():
    second, planner = Second(), Affords(3)
    rig = Rig(planner=planner, second=second)
    rig.run()
    assert second.asked == [3]
    assert rig.outcomes[0].looked == (REGION,)
    assert planner.learned[0]["refine"] >= 0
    assert rig.said == [(1, 1, "OK", False)]


def test_without_time_for_it_there_is_none_and_the_result_says_so():
    second = Second()
    rig = Rig(planner=Affords(0), second=second)
    rig.run()
    assert second.asked == []
    assert (rig.outcomes[0].level, rig.outcomes[0].looked) == ("no_refine", ())


def test_a_frame_that_is_short_of_time_is_looked_at_by_the_small_network():
    small = SimpleNamespace(label=lambda: "small", most=1, look=lambda looks: [Detections.none()])
    for level, label in ((Level.FULL, "fake:test"), (Level.SMALL_INPUT, "small")):
        rig = Rig(planner=Fixed(level), small=small)
        rig.run()
        assert (rig.outcomes[0].model, rig.outcomes[0].level) == (label, level.value)
        assert rig.backend.ran == (1 if level is Level.FULL else 0)


def test_coarse_first_publishes_both_looks_and_settles_the_frame_once():
    rig = Rig(planner=Affords(1), second=Second(), coarse_first=True)
    rig.run()
    assert rig.said == [(1, 1, "OK", False), (1, 2, "OK", False)]
    assert rig.counts() == "1 captured = 1 judged"
    steps = [[step for step, _, _ in out.trace.spans] for out in rig.outcomes]
    assert "refine" not in steps[0]
    assert "refine" in steps[1]


def test_after_late_both_looks_are_revisions_that_say_so():
    watch = ByHand()
    rig = Rig(lambda: watch.speak(1), planner=Affords(1), second=Second(), coarse_first=True, watch=watch)
    rig.run()
    assert rig.said == [(1, 1, "UNKNOWN", "late", False), (1, 2, "OK", True), (1, 3, "OK", True)]
    assert rig.counts() == "1 captured = 1 late"


def test_numbers_that_can_not_be_in_the_second_look_are_unknown_and_override_the_first():
    def fail():
        raise BadOutput("a score of 94")

    for coarse_first, first in ((False, []), (True, [(1, 1, "OK", False)])):
        rig = Rig(planner=Affords(1), second=Second(fail), coarse_first=coarse_first)
        rig.run(frame(1))
        assert rig.said == [*first, (1, len(first) + 1, "UNKNOWN", "bad_output", False)]


def test_the_result_says_which_regions_there_was_no_time_for():
    other = (4, 0, 8, 4)
    second = SimpleNamespace(run=lambda image, coarse, most: Refined(Detections.none(), (REGION,), (other,), (other,)))
    rig = Rig(planner=Affords(1), second=second)
    rig.run()
    assert (rig.outcomes[0].looked, rig.outcomes[0].unlooked) == ((REGION,), (other,))


OTHER = (4, 0, 8, 4)


class Chooses:
    """A second look that wants two regions and looks at as many as it may."""

    def __init__(self, wanted=(REGION, OTHER)):
        self.wanted = wanted

    def run(self, image, coarse, most):
        looked, left = self.wanted[:most], self.wanted[most:]
        return Refined(Detections.none(), looked, left, left)


def doubts_with(regions, *, required, wanted=(REGION, OTHER)):
    """Return the codes of what a judge is asked to doubt, and the text of the first."""
    rig = Rig(planner=Affords(regions), second=Chooses(wanted), second_required=required)
    rig.run()
    (asked,) = rig.judged
    assert rig.counts() == "1 captured = 1 judged"
    return [reason.code for reason in asked[3]], asked[3][0].text if asked[3] else ""


def test_a_required_second_look_that_there_was_no_time_for_is_a_doubt_that_names_the_regions():
    assert doubts_with(0, required=True) == (
        [Code.UNLOOKED],
        "no time for the second look, which is required, at 0,0 to 4,4, 4,0 to 8,4",
    )
    assert doubts_with(1, required=True)[0] == [Code.UNLOOKED], "one region is missing"
    assert doubts_with(2, required=True)[0] == []


def test_a_required_second_look_that_nothing_was_worth_is_no_doubt():
    assert doubts_with(0, required=True, wanted=())[0] == []


def test_where_it_is_not_required_the_first_look_judges_alone():
    assert doubts_with(0, required=False)[0] == []
    assert doubts_with(1, required=False)[0] == []


def test_what_a_required_second_look_lacked_is_in_the_result_and_its_choosing_teaches_the_budget_nothing():
    planner = Affords(0)
    rig = Rig(planner=planner, second=Chooses(), second_required=True)
    rig.run()
    (outcome,) = rig.outcomes
    assert (outcome.level, outcome.looked, outcome.unlooked) == ("no_refine", (), (REGION, OTHER))
    assert planner.regions_learned == [0]


def test_many_regions_are_named_by_the_first_of_them():
    text = doubts_of([(number, 0, number + 1, 1) for number in range(9)])[0].text
    assert text.endswith("0,0 to 1,1, 1,0 to 2,1, 2,0 to 3,1, 3,0 to 4,1 and 5 more")
