"""Whether a camera has got worse with another model: by its UNKNOWNs, or by its times."""

from __future__ import annotations

import pytest

from app.detections import Detections
from app.probation import LEAST, REMEMBERED, Recent, worse
from app.trace import Trace
from app.verdict import Code, Judgement, Outcome, Reason, Verdict


def recent(*, frames: int = 100, unknown: int = 0, ms: float = 20.0) -> Recent:
    """So many frames, of which the first ones were UNKNOWN, that took so long."""
    made = Recent()
    for number in range(frames):
        made.add(unknown=number < unknown, spent_ms=ms)
    return made


ENOUGH = [
    # as before
    (recent(), recent(), None),
    # a fifth more of them UNKNOWN is still borne, one more is not
    (recent(unknown=5), recent(unknown=25), None),
    (recent(unknown=5), recent(unknown=26), "26% of its pictures are UNKNOWN, 5% were"),
    # a gap between two parts fills half of the first frames: too soon to tell
    (recent(unknown=5), recent(frames=20, unknown=10), None),
    (recent(unknown=5), recent(frames=99, unknown=60), None),
    # the line has begun a moment ago, in the midst of a part
    (recent(frames=99), recent(frames=200, unknown=100), None),
    # it sees nothing: that is told at once
    (recent(unknown=5), recent(frames=20, unknown=18), "90% of its pictures are UNKNOWN, 5% were"),
    # fewer UNKNOWN than before
    (recent(unknown=90), recent(unknown=0), None),
    # half as long again and five milliseconds more are still borne
    (recent(ms=20.0), recent(ms=35.0), None),
    (recent(ms=20.0), recent(ms=36.0), "a verdict takes 36 ms, it took 20 ms"),
    # a fast line may get slower by a few milliseconds
    (recent(ms=1.0), recent(ms=6.0), None),
]


@pytest.mark.parametrize(("before", "since", "said"), ENOUGH)
def test_a_rise_of_unknown_or_of_the_median_time_is_worse(before: Recent, since: Recent, said: str | None) -> None:
    assert worse(before, since) == said


@pytest.mark.parametrize(("before", "since"), [(LEAST - 1, 100), (100, LEAST - 1)])
def test_too_few_frames_tell_nothing(before: int, since: int) -> None:
    assert worse(recent(frames=before), recent(frames=since, unknown=since, ms=900.0)) is None


def test_a_few_slow_frames_are_no_rise() -> None:
    since = recent(frames=60)
    for _ in range(40):
        since.add(unknown=False, spent_ms=500.0)
    assert worse(recent(), since) is None


def test_only_the_last_frames_count() -> None:
    since = recent(frames=REMEMBERED, unknown=REMEMBERED, ms=900.0)
    for _ in range(REMEMBERED):
        since.add(unknown=False, spent_ms=20.0)
    assert worse(recent(), since) is None


MODELS = {Code.COUNT, Code.FORBIDDEN, Code.MISSING}  # what it finds, or does not
MODELS |= {Code.NO_PART, Code.CAP_REACHED, Code.BAD_OUTPUT}
MODELS |= {Code.LATE, Code.UNLOOKED}  # it may be what takes so long


@pytest.mark.parametrize("code", Code)
def test_what_no_model_has_looked_at_says_nothing_of_it(code: Code) -> None:
    seen = Recent()
    judgement = Judgement(Verdict.UNKNOWN, (Reason(code, "why"),))
    outcome = Outcome("run-front-000001", "front", 1, judgement, (640, 480), Detections.none(), Trace("", 0), 100.0, 0)
    assert seen.take(outcome) is (code in MODELS)
    assert list(seen.unknown) == [True] * (code in MODELS)
