"""One frame as a waterfall in a picture: a row for each step, shaded where something happened meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from app.latency.trace_file import FrameTrace, SystemEvent
from app.traces.coincidence import NOT_A_CAUSE
from app.traces.colours import part_of
from app.traces.markup import ms, tag, text, ticks, tip
from app.traces.waterfall import during

WIDTH, LEFT, RIGHT = 1000, 190, 80
ROW, BAR, HEAD = 22, 14, 22
WORD = 60.0


def length_ms(frame: FrameTrace) -> float:
    """Return from the exposure to the end of the last step, the subscriber's included."""
    return (max((span.ended_ns for span in frame.spans), default=frame.exposed_ns) - frame.exposed_ns) / 1e6


def lanes(frame: FrameTrace, events: Sequence[SystemEvent], limit_ms: float) -> str:
    """Return the picture.

    Args:
        frame: the frame.
        events: of the whole file; those during the frame are shaded.
        limit_ms: the scale's end, so that several frames can be compared.
    """
    limit = 1.03 * max(limit_ms, frame.budget_ms, 1e-3)
    per_ms = (WIDTH - LEFT - RIGHT) / limit
    foot = HEAD + ROW * len(frame.spans) + 4
    shapes = _shades(_meanwhile(frame, events), frame, per_ms, foot)
    for tick in ticks(limit, 8):
        x = LEFT + tick * per_ms
        shapes.append(tag("line", x1=x, x2=x, y1=HEAD, y2=foot, class_="grid"))
        shapes.append(tag("text", text(f"{tick:g}"), x=x, y=foot + 16, text_anchor="middle"))
    for number, span in enumerate(frame.spans):
        top = HEAD + ROW * number + (ROW - BAR) / 2
        at_ms = (span.began_ns - frame.exposed_ns) / 1e6
        x, width = LEFT + at_ms * per_ms, max(1.5, span.ms * per_ms)
        title = tip(f"{span.step} ({span.thread}): {ms(span.ms)} ms, from {ms(at_ms)} ms")
        shapes.append(tag("text", text(span.step), x=LEFT - 12, y=top + 11, text_anchor="end", class_="ink"))
        colour = f"var(--{part_of(span.step)})"
        shapes.append(tag("rect", title, x=x, y=top, width=width, height=BAR, rx=2, fill=colour))
        shapes.append(tag("text", text(ms(span.ms)), x=x + width + 5, y=top + 11))
    x = LEFT + frame.budget_ms * per_ms
    shapes.append(tag("line", x1=x, x2=x, y1=HEAD - 6, y2=foot, class_="budget"))
    shapes.append(tag("text", text("budget"), x=x, y=HEAD - 10, text_anchor="middle", class_="over"))
    return tag("svg", *shapes, viewBox=f"0 0 {WIDTH} {foot + 36}", role="img")


def _meanwhile(frame: FrameTrace, events: Sequence[SystemEvent]) -> list[SystemEvent]:
    ended_ns = max((span.ended_ns for span in frame.spans), default=frame.exposed_ns)
    found = during(events, frame.exposed_ns, ended_ns, frame.camera)
    return sorted((event for event in found if event.kind not in NOT_A_CAUSE), key=lambda event: event.began_ns)


def _shades(events: Sequence[SystemEvent], frame: FrameTrace, per_ms: float, foot: float) -> list[str]:
    """Return a stripe for each event; a word below it only where there is room beside the one before."""
    shapes, free_x = [], 0.0
    for event in events:
        began, ended = (LEFT + (at_ns - frame.exposed_ns) / 1e6 * per_ms for at_ns in (event.began_ns, event.ended_ns))
        x, width = max(LEFT, began), max(2.0, min(ended, WIDTH - RIGHT) - max(LEFT, began))
        title = tip(f"{event.kind}: {event.text}")
        shapes.append(tag("rect", title, x=x, y=HEAD - 4, width=width, height=foot - HEAD + 4, fill="var(--band)"))
        if x >= free_x:
            shapes.append(tag("text", text(event.kind), x=x + 2, y=foot + 30, class_="over"))
            free_x = x + WORD
    return shapes
