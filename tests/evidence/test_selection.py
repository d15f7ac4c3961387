"""What is worth keeping."""

import pytest

from app.config.evidence import Collect, Evidence
from app.evidence.selection import FAULTY, Sampler, Selection
from app.verdict import Code, Judgement, Reason, Verdict


class Clock:
    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


def late(verdict=Verdict.UNKNOWN):
    return Judgement(verdict, (Reason(Code.LATE, "no verdict yet"),))


@pytest.mark.parametrize(
    ("section", "changes", "why"),
    [
        ({}, {"verdict": Verdict.NG}, ("verdict",)),
        ({}, {"verdict": Verdict.UNKNOWN}, ("verdict",)),
        ({}, {"verdict": Verdict.OK}, ()),  # a sure OK
        ({"verdicts": ["OK"]}, {"verdict": Verdict.OK}, ("verdict",)),
        ({}, {"verdict": Verdict.OK, "nearest": 0.04}, ("borderline",)),  # nearly something else
        ({}, {"verdict": Verdict.OK, "nearest": 0.06}, ()),
        ({"borderline": 0.1}, {"verdict": Verdict.OK, "nearest": 0.06}, ("borderline",)),
        ({"borderline": 0.0}, {"verdict": Verdict.OK, "nearest": 0.0}, ()),  # switched off
        ({}, {"verdict": Verdict.NG, "nearest": 0.01}, ("verdict", "borderline")),
        ({"verdicts": ["NG"]}, {"judgement": late()}, ("late",)),
        ({"verdicts": ["NG"], "late": False}, {"judgement": late()}, ()),
        ({}, {"judgement": Judgement(Verdict.UNKNOWN, (Reason(Code.PAUSED, "paused"),))}, ()),
    ],
)
def test_why_a_picture_is_kept(section, changes, why, outcome):
    verdict = changes.pop("verdict", Verdict.UNKNOWN)
    assert Selection(Evidence(path="x", **section)).why(outcome(1, verdict, **changes)) == why


def test_a_storm_of_one_verdict_takes_no_place_from_another_or_from_another_camera(outcome):
    clock = Clock()
    chosen = Selection(Evidence(path="x", max_per_s=2.0), clock)
    kept = [bool(chosen.why(outcome(seq, Verdict.UNKNOWN))) for seq in range(10)]
    assert kept == [True, True] + [False] * 8
    assert chosen.why(outcome(11, Verdict.NG))
    assert chosen.why(outcome(12, Verdict.UNKNOWN, camera="other"))
    clock.now_s += 0.5
    assert chosen.why(outcome(13, Verdict.UNKNOWN))
    assert not chosen.why(outcome(14, Verdict.UNKNOWN))
    assert chosen.thinned == 9


def test_fewer_than_one_a_second_are_kept_as_well(outcome):
    clock = Clock()
    chosen = Selection(Evidence(path="x", max_per_s=0.1), clock)
    times = []
    for second in range(40):
        clock.now_s = 100.0 + second
        times += [second] if chosen.why(outcome(second)) else []
    assert times == [0, 10, 20, 30]


def test_the_sample_is_one_picture_of_a_camera_every_so_often(outcome):
    clock = Clock()
    sampler = Sampler(Collect(path="x", every_s=60.0), clock)
    taken = []
    for second in range(0, 200, 10):
        clock.now_s = 100.0 + second
        taken += [
            (second, camera) for camera in ("a", "b") if sampler.wants(outcome(second, Verdict.OK, camera=camera))
        ]
    assert taken == [(second, camera) for second in (0, 60, 120, 180) for camera in ("a", "b")]


def test_what_the_network_is_never_asked_about_is_no_sample_and_takes_no_turn(outcome):
    clock = Clock()
    sampler = Sampler(Collect(path="x", verdicts=["OK", "NG", "UNKNOWN"]), clock)
    black = Judgement(Verdict.UNKNOWN, (Reason(Code.BLACK, "black"),))
    assert not sampler.wants(outcome(1, judgement=black))
    assert sampler.wants(outcome(2, Verdict.UNKNOWN))
    assert not Sampler(Collect(path="x"), clock).wants(outcome(3, Verdict.UNKNOWN))


def test_every_reason_says_whether_the_picture_was_looked_at():
    """A reason that is new counts as a fault of the picture until somebody says otherwise."""
    assert sorted(code.value for code in FAULTY) == [
        *("black", "blank", "blurred", "frozen", "overexposed", "stale", "starting", "torn"),
        *("unreadable", "wrong_format", "wrong_size"),
    ]
