"""One frame as a waterfall on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.latency.trace_file import FrameTrace, SystemEvent
from app.traces.coincidence import NOT_A_CAUSE
from app.traces.colours import TERMINAL, part_of
from app.traces.timing import BETWEEN, timing_of

LEAST_BAR = 20
OTHER_COLUMNS = 56
"""What the columns beside the bar take of the terminal's width."""
OF_OTHER_FRAMES = NOT_A_CAUSE - {"clock"}
"""Kinds that say something of a frame, mostly of another one, and so nothing of what befell this one."""


def print_waterfall(frame: FrameTrace, events: Sequence[SystemEvent], console: Console) -> None:
    """Print every step with when it began, how long it took, and a bar; then what happened meanwhile."""
    timing = timing_of(frame)
    ended_ns = max((span.ended_ns for span in frame.spans), default=frame.exposed_ns + 1)
    bar = max(LEAST_BAR, console.width - OTHER_COLUMNS)
    console.print(title(frame), highlight=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    table.add_column("step", no_wrap=True, min_width=10)
    table.add_column("who has it", no_wrap=True)
    for heading in ("at ms", "took ms"):
        table.add_column(heading, justify="right", no_wrap=True, min_width=6)
    table.add_column(scale(bar, (ended_ns - frame.exposed_ns) / 1e6), width=bar, no_wrap=True)
    for span in frame.spans:
        at_ms = (span.began_ns - frame.exposed_ns) / 1e6
        drawn = bar_of(span.began_ns, span.ended_ns, frame.exposed_ns, ended_ns, bar)
        drawn.stylize(TERMINAL[part_of(span.step)])
        table.add_row(span.step, span.thread, f"{at_ms:.2f}", f"{span.ms:.2f}", drawn)
    table.add_row("", "between steps", "", f"{timing.parts_ms[BETWEEN]:.2f}", "", style="dim")
    console.print(table)
    for event in during(events, frame.exposed_ns, ended_ns, frame.camera):
        if event.kind in OF_OTHER_FRAMES:
            continue
        took = f", {(event.ended_ns - event.began_ns) / 1e6:.1f} ms" if event.ended_ns > event.began_ns else ""
        at_ms = (event.began_ns - frame.exposed_ns) / 1e6
        console.print(f"meanwhile: {event.kind} at {at_ms:.1f} ms{took}: {event.text}", highlight=False, soft_wrap=True)


def title(frame: FrameTrace) -> Text:
    """Return who the frame is and how its time stands to its budget."""
    timing = timing_of(frame)
    verdict = "passed over by the gate" if frame.verdict is None else frame.verdict.value
    facts = [frame.trace_id, frame.label, verdict, frame.level, *(f"without {step}" for step in frame.skipped)]
    over = f", {timing.total_ms - frame.budget_ms:.1f} ms over it" if timing.is_over else ""
    total = f"{timing.total_ms:.1f} ms of a budget of {frame.budget_ms:.0f} ms{over}"
    return Text.assemble("  ".join(filter(None, facts)), "  ", (total, "bold red" if timing.is_over else "bold"))


def bar_of(began_ns: int, ended_ns: int, from_ns: int, to_ns: int, width: int) -> Text:
    """Return a bar in its place between two times; the shortest is still seen."""
    per_cell = max(1, to_ns - from_ns) / width
    first = min(width - 1, max(0, int((began_ns - from_ns) / per_cell)))
    last = min(width, max(first + 1, round((ended_ns - from_ns) / per_cell)))
    is_sliver = ended_ns - began_ns < per_cell / 2
    return Text(" " * first + ("▏" if is_sliver else "█" * (last - first)))


def scale(width: int, total_ms: float) -> str:
    """Return the head of the bars: 0 at the left, the end of the frame at the right."""
    right = f"{total_ms:.1f} ms"
    return "0" + right.rjust(width - 1)


def during(events: Sequence[SystemEvent], began_ns: int, ended_ns: int, camera: str) -> list[SystemEvent]:
    """Return what happened between two times to a camera or to the whole machine."""
    return [
        event
        for event in events
        if event.began_ns <= ended_ns and event.ended_ns >= began_ns and event.camera in ("", camera)
    ]
