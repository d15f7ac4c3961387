"""Outcomes to write about, and what was written."""

import json
from time import monotonic_ns

import pytest

from app.detections import Detections
from app.log import writer
from app.trace import Trace
from app.verdict import Code, Judgement, Outcome, Reason, Verdict


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take long over what still waits at the end."""
    monkeypatch.setattr(writer, "GIVE_UP_NS", 60 * 10**9)
    monkeypatch.setattr(writer, "STUCK_S", 90.0)


@pytest.fixture
def outcome_of():
    """A function that makes the outcome of a frame that was exposed so long ago."""

    def make(verdict: Verdict = Verdict.OK, *, age_ms: float = 10.0, seq: int = 1, **more) -> Outcome:
        exposed_ns = monotonic_ns() - round(age_ms * 1e6)
        trace = Trace(f"run-covers-{seq:06d}", exposed_ns)
        trace.add("capture", exposed_ns, exposed_ns + 2_000_000)
        reasons = () if verdict is Verdict.OK else (Reason(Code.FORBIDDEN, "hole at 120, 44"),)
        return Outcome(
            trace_id=trace.trace_id,
            camera="covers",
            seq=seq,
            judgement=Judgement(verdict, reasons),
            size_wh=(640, 480),
            detections=Detections.none(),
            trace=trace,
            budget_ms=100.0,
            captured_utc_ns=0,
            **more,
        )

    return make


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]):
    """A function that returns the JSON lines on stderr."""
    return lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines()]
