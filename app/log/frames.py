"""One line for each frame that is worth one: what went wrong always, what went well as often as it may cost."""

from __future__ import annotations

import logging
import math
import time
from functools import partial
from typing import Any

from app.log.line import Line
from app.log.waiting import Waiting
from app.trace import Trace
from app.verdict import Outcome, Verdict

LEAST_SHARE = 0.01
"""Of the lines about good frames, that are left when the queue is full."""


class FrameLog:
    """Writes about verdicts; called on the path of a frame, so it takes microseconds and never waits.

    Frames that are not OK or over their budget are told in detail and always. Of the others, `frames_per_s` lines a
    second over all cameras are written, fewer the fuller the log's queue is; each says how many were left out before
    it.

    What a frame pays is mostly code that has left the processor's caches since the last one: hence few calls, and all
    that can be done by the writer is.

    Args:
        waiting: the log's queue.
        frames_per_s: lines a second about frames that were OK and on time.
    """

    def __init__(self, waiting: Waiting, frames_per_s: float) -> None:
        self._size, self._append, self._drop = waiting.size, waiting.append, waiting.drop
        self._length, self._detail_length = waiting.length, waiting.detail_length
        self._load = waiting.load
        self._every_ns = 1e9 / frames_per_s if frames_per_s else 0.0
        self._next_ns = 0.0 if frames_per_s else math.inf
        self._left_out = 0

    def judged(self, outcome: Outcome) -> None:
        """Take one verdict as soon as it is known."""
        now_ns, trace = time.monotonic_ns(), outcome.trace
        spent_ms = (now_ns - trace.exposed_ns) / 1e6
        if outcome.judgement.verdict is not Verdict.OK or spent_ms > outcome.budget_ms:
            if self._size() >= self._length:
                self._drop()
                return
            # The steps so far, as a copy: the outbox will add to them while the writer reads.
            self._append(partial(_detailed, outcome, time.time_ns(), spent_ms, trace.spans[:]))
            return
        if now_ns < self._next_ns:
            self._left_out += 1
            return
        self._next_ns = now_ns + self._every_ns / max(1 - self._load(), LEAST_SHARE)
        if self._size() >= self._detail_length:
            self._drop()
            self._left_out += 1
            return
        self._append(partial(_brief, outcome, time.time_ns(), spent_ms, self._left_out))
        self._left_out = 0


def _brief(outcome: Outcome, utc_ns: int, spent_ms: float, left_out: int) -> Line:
    """Return the line about a frame that was OK and on time."""
    fields = _fields(outcome, spent_ms)
    return _line(utc_ns, {**fields, "left_out": left_out} if left_out else fields)


def _detailed(outcome: Outcome, utc_ns: int, spent_ms: float, spans: list[tuple[str, int, int]]) -> Line:
    """Return the line about a frame that went wrong."""
    trace = Trace(outcome.trace_id, outcome.trace.exposed_ns)
    trace.spans = spans
    fields = {
        **_fields(outcome, spent_ms),
        "reasons": [f"{reason.code.value}: {reason.text}" for reason in outcome.judgement.reasons],
        "stages_ms": {name: round(spent, 2) for name, spent in trace.columns_ms().items() if spent is not None},
        "size_wh": outcome.size_wh,
        "model": outcome.model,
    }
    if outcome.level != "full":
        fields |= {"plan": outcome.level, "skipped": outcome.skipped}
    if spent_ms > outcome.budget_ms:
        fields["over_ms"] = round(spent_ms - outcome.budget_ms, 2)
    return _line(utc_ns, fields)


def _fields(outcome: Outcome, spent_ms: float) -> dict[str, Any]:
    """Return what is said of any frame."""
    named = {"rev": outcome.rev if outcome.rev > 1 else None, "part": outcome.part, "label": outcome.label or None}
    return {
        "camera": outcome.camera,
        "trace_id": outcome.trace_id,
        "verdict": outcome.judgement.verdict.value,
        "spent_ms": round(spent_ms, 2),
        "budget_ms": outcome.budget_ms,
        **{name: value for name, value in named.items() if value is not None},
    }


def _line(utc_ns: int, fields: dict[str, Any]) -> Line:
    return Line(utc_ns, logging.INFO, "app.frame", "frame", fields)
