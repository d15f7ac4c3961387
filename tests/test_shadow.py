"""A candidate beside a line: only in slack time, without a say, and what differs is told."""

from types import SimpleNamespace

import numpy as np
import pytest

from app.detections import Detections
from app.errors import BadOutput
from app.shadow import FIRST_NS, Candidate, Shadow
from app.trace import Trace
from app.verdict import Judgement, Outcome, Verdict

PICTURE = np.zeros((4, 6, 3), np.uint8)
BOX = (1.0, 1.0, 3.0, 3.0)
LONG_NS = 10 * FIRST_NS


def boxes(*names, known=("cover", "scratch")):
    classes = np.array([known.index(name) for name in names], np.int64)
    xyxy = np.array([BOX] * len(names), np.float32).reshape(-1, 4)
    return Detections(xyxy, np.full(len(names), 0.9, np.float32), classes, known)


def outcome(verdict=Verdict.OK, detections=None, *, camera="front", rev=1, looked=True):
    trace = Trace("t", 0)
    if looked:
        trace.add("inference", 0, 10)
    found = boxes("cover") if detections is None else detections
    return Outcome("t", camera, 1, Judgement(verdict), (6, 4), found, trace, 100.0, 0, rev=rev, model="old:1:CPU")


class Rig:
    """A shadow with one candidate whose answers a test gives."""

    def __init__(self, found=None, verdict=Verdict.OK, share=1.0):
        self.found, self.looks, self.told, self.chance = boxes("cover") if found is None else found, 0, [], 0.0
        judge = SimpleNamespace(considered=lambda found: found, judge=lambda *_: Judgement(verdict))
        candidate = Candidate("new", SimpleNamespace(look=self.look), judge, share, 0.1)
        self.shadow = Shadow({"front": candidate}, lambda *news: self.told.append(news), lambda: self.chance)

    def look(self, looks):
        self.looks += 1
        return [self.found]

    def run(self, one=None, spare_ns=LONG_NS):
        self.shadow.offer(one or outcome(), PICTURE)
        self.shadow.idle(lambda: spare_ns)
        return [difference for _, _, difference in self.told]


def test_both_see_the_same_and_that_is_told_as_well():
    (difference,) = Rig().run()
    assert (difference.verdict, dict(difference.lost), dict(difference.invented)) == (Verdict.OK, {}, {})
    assert difference.candidate_ms >= 0


def test_what_only_one_of_them_finds_is_told_by_class():
    rig = Rig(found=boxes("cover", "scratch"), verdict=Verdict.NG)
    (difference,) = rig.run()
    assert (difference.verdict, dict(difference.invented)) == (Verdict.NG, {"scratch": 1})
    (difference,) = Rig(found=boxes()).run()
    assert dict(difference.lost) == {"cover": 1}


def test_classes_are_the_same_by_their_names_not_by_their_numbers():
    (difference,) = Rig(found=boxes("cover", known=("scratch", "cover"))).run()
    assert (dict(difference.lost), dict(difference.invented)) == ({}, {})


def test_a_candidate_whose_numbers_can_not_be_is_unknown():
    (difference,) = Rig(found=BadOutput("NaN")).run()
    assert difference.verdict is Verdict.UNKNOWN


def test_it_does_not_look_where_there_is_no_time_to_spare_and_looks_later():
    rig = Rig()
    assert rig.run(spare_ns=0.5 * FIRST_NS) == []
    assert rig.looks == 0
    rig.shadow.idle(lambda: LONG_NS)
    assert rig.looks == 1


def test_once_it_is_known_how_long_it_takes_a_short_pause_is_enough():
    rig = Rig()
    rig.shadow.warm()
    assert len(rig.run(spare_ns=FIRST_NS / 10)) == 1
    assert rig.looks == 2


@pytest.mark.parametrize(
    "one",
    [
        outcome(camera="side"),  # another camera
        outcome(rev=2),  # a verdict that overrides another
        outcome(looked=False),  # too late, black: the line's model did not look either
    ],
)
def test_what_the_line_s_model_did_not_judge_is_not_compared(one):
    assert Rig().run(one) == []


def test_a_share_of_the_pictures_is_chosen():
    rig = Rig(share=0.25)
    rig.chance = 0.24
    assert len(rig.run()) == 1
    rig.chance = 0.26
    assert len(rig.run()) == 1, "no second one"


def test_the_newest_picture_takes_the_place_of_one_that_waits_and_that_is_counted():
    rig = Rig()
    rig.shadow.offer(outcome(), PICTURE)
    rig.shadow.offer(outcome(Verdict.NG), PICTURE)
    rig.shadow.idle(lambda: LONG_NS)
    ((one, _, _),) = rig.told
    assert one.judgement.verdict is Verdict.NG
    assert rig.shadow.counts() == {("front", "new", "skipped"): 1, ("front", "new", "different"): 1}


def test_agreements_and_disagreements_are_counted_by_camera_and_candidate():
    rig = Rig(verdict=Verdict.OK)
    for verdict in (Verdict.OK, Verdict.OK, Verdict.NG):
        rig.run(outcome(verdict))
    assert rig.shadow.counts() == {("front", "new", "same"): 2, ("front", "new", "different"): 1}
