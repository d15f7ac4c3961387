"""One camera's second look: as the budget allows, before the verdict, or after a first one."""

from types import SimpleNamespace

from app.detections import Detections
from app.errors import BadOutput
from app.latency.base import Level, Plan
from app.refine.base import Refined
from tests.frames import frame
from tests.rig import ByHand, Fixed, Rig

REGION = (0, 0, 4, 4)


class Affords(Fixed):
    """A planner that affords so many regions."""

    def __init__(self, regions):
        super().__init__()
        self.max_regions = regions

    def regions(self, spent_ms, plan):
        return Plan(Level.FULL if self.max_regions else Level.NO_REFINE, self.max_regions)


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
