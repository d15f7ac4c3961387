"""A clock that a test sets, and outcomes to trace."""

from collections.abc import Callable

import pytest

from app.detections import Detections
from app.trace import Trace
from app.verdict import Judgement, Outcome, Verdict


class Clock:
    """A monotonic clock in nanoseconds that stands still until it is told."""

    def __init__(self, at_s=1000.0):
        self.now_ns = int(at_s * 1e9)

    def __call__(self):
        return self.now_ns

    def advance(self, seconds):
        self.now_ns += round(seconds * 1e9)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def outcome() -> Callable[..., Outcome]:
    """Make one outcome; `steps` are names with their milliseconds, one after the other from the exposure."""

    def make(seq: int = 1, exposed_ns: int = 0, **steps: float) -> Outcome:
        trace = Trace(f"run-front-{seq:06d}", exposed_ns)
        at_ns = exposed_ns
        for step, spent_ms in steps.items():
            trace.add(step, at_ns, at_ns + int(spent_ms * 1_000_000))
            at_ns += int(spent_ms * 1_000_000)
        return Outcome(
            trace_id=trace.trace_id,
            camera="front",
            seq=seq,
            judgement=Judgement(Verdict.OK),
            size_wh=(640, 480),
            detections=Detections.none(),
            trace=trace,
            budget_ms=100.0,
            captured_utc_ns=1_700_000_000_000_000_000 + exposed_ns,
        )

    return make
