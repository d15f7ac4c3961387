"""One line for each frame that is worth one: what went wrong always, what went well as often as it may cost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from app.log.line import Line
from app.trace import Trace
from app.verdict import Outcome, Verdict


class Bucket:
    """Says yes at most so often: a token bucket that holds a second's worth, and one at least.

    Args:
        per_s: how often; 0 is never.
    """

    def __init__(self, per_s: float) -> None:
        self._per_ns = per_s / 1e9
        self._most = max(1.0, per_s)
        self._tokens = self._most if per_s else 0.0
        self._filled_ns = time.monotonic_ns()

    def take(self, now_ns: int, share: float) -> bool:
        """Take a token if there is one; with `share` below 1 they come more slowly."""
        self._tokens = min(self._most, self._tokens + (now_ns - self._filled_ns) * self._per_ns * share)
        self._filled_ns = now_ns
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class FrameLog:
    """Writes about verdicts; called on the path of a frame, so it takes microseconds and never waits.

    Frames that are not OK, late, over their budget or looked at with less than the full effort are told in detail and
    always. Of the others, `frames_per_s` lines a second over all cameras are written, fewer the fuller the log's queue
    is; each says how many were left out before it.

    Args:
        put: takes a line without waiting.
        load: how full the log's queue is, 0 … 1.
        frames_per_s: lines a second about frames that were OK and on time.
    """

    def __init__(self, put: Callable[[Line], object], load: Callable[[], float], frames_per_s: float) -> None:
        self._put = put
        self._load = load
        self._bucket = Bucket(frames_per_s)
        self._left_out = 0

    def judged(self, outcome: Outcome) -> None:
        """Take one verdict as soon as it is known."""
        now_ns = time.monotonic_ns()
        trace = outcome.trace
        spent_ms = (now_ns - trace.exposed_ns) / 1e6
        kept = outcome.judgement.verdict is not Verdict.OK or spent_ms > outcome.budget_ms or outcome.skipped != ()
        if not kept and not self._bucket.take(now_ns, 1 - self._load()):
            self._left_out += 1
            return
        left_out = 0 if kept else self._left_out
        # The steps so far; the outbox will add to the trace while the writer reads.
        seen = Trace(trace.trace_id, trace.exposed_ns)
        seen.spans = trace.spans[:]
        fields = partial(_fields, outcome, seen, spent_ms, kept, left_out)
        taken = self._put(Line(time.time_ns(), logging.INFO, "app.frame", "frame", fields, kept))
        if not kept:
            self._left_out = 0 if taken else self._left_out + 1


def _fields(outcome: Outcome, trace: Trace, spent_ms: float, kept: bool, left_out: int) -> dict[str, Any]:
    """Return what is said of one frame; made by the writer."""
    fields: dict[str, Any] = {
        "camera": outcome.camera,
        "trace_id": outcome.trace_id,
        "verdict": outcome.judgement.verdict.value,
        "spent_ms": round(spent_ms, 2),
        "budget_ms": outcome.budget_ms,
    }
    named = {"rev": outcome.rev if outcome.rev > 1 else None, "part": outcome.part, "label": outcome.label or None}
    fields |= {name: value for name, value in named.items() if value is not None}
    if kept:
        fields |= _details(outcome, trace, spent_ms)
    if left_out:
        fields["left_out"] = left_out
    return fields


def _details(outcome: Outcome, trace: Trace, spent_ms: float) -> dict[str, Any]:
    details: dict[str, Any] = {
        "reasons": [f"{reason.code.value}: {reason.text}" for reason in outcome.judgement.reasons],
        "stages_ms": {name: round(spent, 2) for name, spent in trace.columns_ms().items() if spent is not None},
        "size_wh": outcome.size_wh,
        "model": outcome.model,
    }
    if outcome.skipped:
        details["skipped"] = outcome.skipped
    if spent_ms > outcome.budget_ms:
        details["over_ms"] = round(spent_ms - outcome.budget_ms, 2)
    return details
