"""When each step of one frame began and ended, on one monotonic clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic_ns

STAGES = ("capture", "preprocess", "inference", "postprocess", "network", "presentation")
"""The six budgeted stages, in the order of a frame's path."""

COLUMNS = (*STAGES[:1], "wait", *STAGES[1:])
"""The stages and the time waited in a hand-off, because that is where latency hides."""

COLUMN_OF = {
    "capture": "capture",
    "guard": "capture",
    "slot": "wait",
    "gate": "wait",
    "preprocess": "preprocess",
    "inference": "inference",
    "decode": "postprocess",
    "refine": "postprocess",
    "judge": "postprocess",
    "publish": "network",
    "present": "presentation",
}
"""Which column a step counts in."""


class Trace:
    """The spans of one frame; append-only, with one owner at a time (capture, then inspect, then outbox).

    Args:
        trace_id: unique for the frame.
        exposed_ns: when the picture came to be, on `time.monotonic_ns`; the budget counts from here.
    """

    __slots__ = ("exposed_ns", "spans", "trace_id")

    def __init__(self, trace_id: str, exposed_ns: int) -> None:
        self.trace_id = trace_id
        self.exposed_ns = exposed_ns
        self.spans: list[tuple[str, int, int]] = []

    def copy(self) -> Trace:
        """Return the same spans for another owner."""
        other = Trace(self.trace_id, self.exposed_ns)
        other.spans[:] = self.spans
        return other

    def add(self, step: str, began_ns: int, ended_ns: int) -> None:
        """Append one span; `step` is a key of `COLUMN_OF`."""
        assert step in COLUMN_OF, step
        self.spans.append((step, began_ns, ended_ns))

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Append the span that the block takes, also when it raises."""
        began_ns = monotonic_ns()
        try:
            yield
        finally:
            self.add(name, began_ns, monotonic_ns())

    def columns_ms(self) -> dict[str, float | None]:
        """Return milliseconds for each of `COLUMNS`; None where no step of it has run (yet)."""
        spent: dict[str, float | None] = dict.fromkeys(COLUMNS)
        for step, began_ns, ended_ns in self.spans:
            column = COLUMN_OF[step]
            spent[column] = (spent[column] or 0.0) + (ended_ns - began_ns) / 1e6
        return spent

    @property
    def ended_ns(self) -> int:
        """When the last step so far ended; the exposure where none has run."""
        return max((ended_ns for _, _, ended_ns in self.spans), default=self.exposed_ns)

    @property
    def total_ms(self) -> float:
        """Milliseconds from the exposure to the end of the last step so far."""
        return (self.ended_ns - self.exposed_ns) / 1e6
