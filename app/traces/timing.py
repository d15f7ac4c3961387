"""One frame's time, split over the stages, with what lies between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.latency.trace_file import FrameTrace, Span
from app.publish.message import Result
from app.trace import COLUMN_OF, COLUMNS

SHOWN = "presentation"
BETWEEN = "between"
"""Time in which no step of the frame ran: its thread waited for a processor or for the interpreter."""

PARTS = (*(column for column in COLUMNS if column != SHOWN), BETWEEN)
"""What the total is made of; it ends with the broker's acknowledgement, as the budget does."""


@dataclass(frozen=True, slots=True)
class Timing:
    """One frame's time on one monotonic clock.

    Attributes:
        name: the part's number where there is one, else the frame's.
        began_ns: the exposure.
        ended_ns: the broker's acknowledgement, or the end of the last step that is known.
        parts_ms: by name, of `PARTS`; 0 where a stage did not run.
        steps_ms: the same by step.
        shown_ms: from the broker to a subscriber's screen, None where nobody said so.
        late: UNKNOWN/late had gone out before the verdict was known.
    """

    trace_id: str
    camera: str
    name: str
    verdict: str
    began_ns: int
    ended_ns: int
    budget_ms: float
    parts_ms: Mapping[str, float]
    steps_ms: Mapping[str, float]
    shown_ms: float | None
    late: bool = False

    @property
    def total_ms(self) -> float:
        """From the exposure to the broker's acknowledgement."""
        return (self.ended_ns - self.began_ns) / 1e6

    @property
    def is_over(self) -> bool:
        """Whether it took longer than its budget."""
        return self.total_ms > self.budget_ms


def timing_of(frame: FrameTrace) -> Timing:
    """Return a traced frame's time."""
    inside = [span for span in frame.spans if COLUMN_OF.get(span.step) != SHOWN]
    shown = [span.ms for span in frame.spans if COLUMN_OF.get(span.step) == SHOWN]
    parts_ms, steps_ms = dict.fromkeys(PARTS, 0.0), dict[str, float]()
    for span in inside:
        steps_ms[span.step] = steps_ms.get(span.step, 0.0) + span.ms
        column = COLUMN_OF.get(span.step, BETWEEN)  # a step of a later version is no stage that we know
        parts_ms[column] += span.ms
    parts_ms[BETWEEN] += _gaps_ms(frame.exposed_ns, inside)
    return Timing(
        trace_id=frame.trace_id,
        camera=frame.camera,
        name=f"#{frame.seq}" if frame.part is None else f"part {frame.part}",
        verdict="" if frame.verdict is None else frame.verdict.value,
        began_ns=frame.exposed_ns,
        ended_ns=max((span.ended_ns for span in inside), default=frame.exposed_ns),
        budget_ms=frame.budget_ms,
        parts_ms=parts_ms,
        steps_ms=steps_ms,
        shown_ms=sum(shown) if shown else None,
        late=frame.late,
    )


def timings_of(frames: Iterable[FrameTrace]) -> list[Timing]:
    """Return the times of published frames, once each: of the last revision, which has every step."""
    last: dict[str, FrameTrace] = {}
    for frame in frames:
        if frame.fate == "published" and frame.rev >= last.get(frame.trace_id, frame).rev:
            last[frame.trace_id] = frame
    return [timing_of(frame) for frame in last.values()]


def went_whole_way(timings: Sequence[Timing]) -> list[Timing]:
    """Return the frames that the engine looked at: one that was late or torn before has nothing to compare.

    Where there is no such frame, all are returned.
    """
    return [timing for timing in timings if timing.parts_ms["inference"] > 0] or list(timings)


def timing_of_result(result: Result, arrived_ns: int) -> Timing | None:
    """Return what a published result says of its time; it can't know its own way to the broker. None if it says none.

    Args:
        result: as a subscriber gets it.
        arrived_ns: when it came, on `time.monotonic_ns` of the subscriber.
    """
    if result.total_ms is None:
        return None
    parts_ms = {part: getattr(result.stages_ms, part, None) or 0.0 for part in PARTS}
    parts_ms[BETWEEN] = max(0.0, result.total_ms - sum(parts_ms.values()))
    return Timing(
        trace_id=result.trace_id,
        camera=result.camera,
        name=f"#{result.seq}" if result.part is None else f"part {result.part}",
        verdict=result.verdict.value,
        began_ns=arrived_ns - int(result.total_ms * 1e6),
        ended_ns=arrived_ns,
        budget_ms=result.budget_ms or float("inf"),
        parts_ms=parts_ms,
        steps_ms={},
        shown_ms=None,
        late=result.late,
    )


def _gaps_ms(began_ns: int, spans: Iterable[Span]) -> float:
    reached_ns, gaps_ns = began_ns, 0
    for span in sorted(spans, key=lambda span: span.began_ns):
        gaps_ns += max(0, span.began_ns - reached_ns)
        reached_ns = max(reached_ns, span.ended_ns)
    return gaps_ns / 1e6
