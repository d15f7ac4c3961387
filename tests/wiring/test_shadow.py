"""What is told and kept of a candidate's verdicts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from app.detections import Detections
from app.shadow import Difference
from app.trace import Trace
from app.verdict import Judgement, Outcome, Verdict
from app.wiring.shadow import build_shadow
from app.wiring.sinks import Keep

PICTURE = np.zeros((4, 6, 3), np.uint8)


def told(verdict: Verdict, other: Verdict, evidence: str = "") -> tuple[dict[str, object], list[str]]:
    """Return an event's data, and the verdicts whose pictures were kept for it."""
    events, kept = [], []
    trace = Trace("t", 0)
    trace.add("preprocess", 0, 1_000_000)
    trace.add("inference", 1_000_000, 4_000_000)
    outcome = Outcome(
        "t",
        "front",
        1,
        Judgement(verdict),
        (6, 4),
        Detections.none(),
        trace,
        100.0,
        0,
        model="old:1",
        evidence=evidence,
    )

    def also(one: Outcome, image: object) -> str:
        assert image is PICTURE
        kept.append(one.judgement.verdict.value)
        return "2026/t"

    outbox = SimpleNamespace(event=lambda camera, kind, text, **data: events.append((camera, kind, data)))
    shadow = build_shadow({}, outbox, Keep(also=also))
    shadow._tell(outcome, PICTURE, Difference("new", other, {"cover": 1}, {"scratch": 2}, 5.0))
    ((camera, kind, data),) = events
    assert (camera, kind) == ("front", "shadow")
    return data, kept


def test_pictures_on_which_the_two_differ_are_kept_and_named_in_the_event() -> None:
    data, kept = told(Verdict.OK, Verdict.NG)
    assert kept == ["OK"]
    assert data["evidence"] == "2026/t"
    assert (data["verdict"], data["candidate_verdict"]) == ("OK", "NG")
    assert (data["lost"], data["invented"]) == ({"cover": 1}, {"scratch": 2})
    assert (data["ms"], data["candidate_ms"]) == (4.0, 5.0)


def test_what_is_kept_anyway_is_not_kept_twice() -> None:
    data, kept = told(Verdict.NG, Verdict.OK, evidence="2026/already")
    assert (data["evidence"], kept) == ("2026/already", [])


@pytest.mark.parametrize("verdict", list(Verdict))
def test_where_both_say_the_same_nothing_is_kept(verdict: Verdict) -> None:
    data, kept = told(verdict, verdict)
    assert "evidence" not in data
    assert kept == []
