"""Percentiles over time, with every frame that was slow and everything that happened beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from app.latency.percentiles import Percentiles, percentile, percentiles
from app.latency.trace_file import SystemEvent
from app.traces.coincidence import LABELS, slow_clocks
from app.traces.markup import ms, tag, text, ticks, tip
from app.traces.timing import Timing

WIDTH, LEFT, RIGHT = 1000, 170, 80
HEAD, PLOT, LANE = 12, 240, 20
FRAMES_A_STRETCH, MOST_STRETCHES = 20, 80
ALL_DOTS = 1500
"""More frames than these are not drawn one by one; only those beyond the 99th percentile are."""
LINES = ("p50", "p90", "p99")
NOT_DRAWN = {"clock", "dropped"}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time and the percentiles of its frames."""

    began_s: float
    ended_s: float
    percentiles: Percentiles


@dataclass(frozen=True, slots=True)
class _Axes:
    zero_ns: int
    length_s: float
    limit_ms: float

    def x(self, at_ns: int) -> float:
        return self.x_s((at_ns - self.zero_ns) / 1e9)

    def x_s(self, at_s: float) -> float:
        return LEFT + min(max(at_s / self.length_s, 0.0), 1.0) * (WIDTH - LEFT - RIGHT)

    def y(self, value_ms: float) -> float:
        return HEAD + PLOT * (1 - min(value_ms / self.limit_ms, 1.0))


def stretches(timings: Sequence[Timing], zero_ns: int, length_s: float) -> list[Stretch]:
    """Return the percentiles of equally long stretches of time, empty ones left out."""
    count = min(max(1, len(timings) // FRAMES_A_STRETCH), MOST_STRETCHES)
    groups: defaultdict[int, list[float]] = defaultdict(list)
    for timing in timings:
        place = int((timing.began_ns - zero_ns) / 1e9 / length_s * count)
        groups[min(place, count - 1)].append(timing.total_ms)
    return [
        Stretch(place * length_s / count, (place + 1) * length_s / count, percentiles(group))
        for place, group in sorted(groups.items())
    ]


def timeline(timings: Sequence[Timing], events: Sequence[SystemEvent], budget_ms: float) -> str:
    """Return the picture."""
    zero_ns = min(timing.began_ns for timing in timings)
    length_s = max(1e-3, (max(timing.began_ns for timing in timings) - zero_ns) / 1e9)
    totals = sorted(timing.total_ms for timing in timings)
    high_ms = percentile(totals, "99")
    # One frame of ten seconds must not press all others to the floor: what is over the limit is drawn as a triangle.
    axes = _Axes(zero_ns, length_s, 1.15 * max(budget_ms, min(totals[-1], 2 * max(high_ms, budget_ms))))
    drawn = timings if len(timings) <= ALL_DOTS else [timing for timing in timings if timing.total_ms >= high_ms]
    happened = _lanes([*events, *slow_clocks(events)], axes)
    foot = HEAD + PLOT + LANE * len(happened) + 6
    shapes = [*_grid(axes, foot), *(_dot(timing, axes) for timing in drawn)]
    shapes += _percentile_lines(stretches(timings, zero_ns, length_s), axes)
    y = axes.y(budget_ms)
    shapes.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="budget"))
    shapes.append(tag("text", text(f"budget {ms(budget_ms)} ms"), x=LEFT + 6, y=y - 5, class_="over"))
    shapes += [mark for lane in happened for mark in lane]
    return tag("svg", *shapes, viewBox=f"0 0 {WIDTH} {foot + 24}", role="img")


def _grid(axes: _Axes, foot: float) -> list[str]:
    shapes = []
    for tick in ticks(axes.limit_ms, 5):
        y = axes.y(tick)
        shapes.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
        shapes.append(tag("text", text(f"{tick:g} ms"), x=LEFT - 8, y=y + 4, text_anchor="end"))
    for tick in ticks(axes.length_s, 8):
        shapes.append(tag("text", text(f"{tick:g} s"), x=axes.x_s(tick), y=foot + 14, text_anchor="middle"))
    return shapes


def _dot(timing: Timing, axes: _Axes) -> str:
    x, y = axes.x(timing.began_ns), axes.y(timing.total_ms)
    fill = "var(--alarm)" if timing.is_over else "var(--faint)"
    title = tip(f"{timing.trace_id}: {ms(timing.total_ms)} ms, {timing.verdict}")
    if timing.total_ms > axes.limit_ms:
        return tag("path", title, d=f"M{x:.1f} {y - 9:.1f}l5 9h-10z", fill=fill)
    return tag("circle", title, cx=x, cy=y, r=2.6, fill=fill, fill_opacity="0.75")


def _percentile_lines(parts: Sequence[Stretch], axes: _Axes) -> list[str]:
    shapes, taken = [], [axes.y(0) + 100]
    for name in LINES:
        values = [(part, getattr(part.percentiles, name)) for part in parts]
        points = "".join(
            f"{'L' if number else 'M'}{axes.x_s(part.began_s):.1f} {axes.y(value):.1f}H{axes.x_s(part.ended_s):.1f}"
            for number, (part, value) in enumerate(values)
        )
        shapes.append(tag("path", d=points, fill="none", stroke=f"var(--{name})", stroke_width=2))
        y = min(axes.y(values[-1][1]) + 4, taken[-1] - 13)  # labels of lines that lie close must not lie upon another
        taken.append(y)
        words = f"{name} {ms(values[-1][1])}"
        shapes.append(tag("text", text(words), x=WIDTH - RIGHT + 8, y=y, class_="ink"))
    return shapes


def _lanes(events: Sequence[SystemEvent], axes: _Axes) -> list[list[str]]:
    """Return one row of marks for each kind of event."""
    kinds: defaultdict[str, list[SystemEvent]] = defaultdict(list)
    for event in events:
        if event.kind not in NOT_DRAWN:
            kinds[event.kind].append(event)
    rows = []
    for number, (kind, group) in enumerate(sorted(kinds.items())):
        y = HEAD + PLOT + 10 + LANE * number
        label = tag("text", text(LABELS.get(kind, kind)), x=LEFT - 8, y=y + 10, text_anchor="end", font_size=11)
        marks = [
            tag(
                "rect",
                tip(event.text),
                x=axes.x(event.began_ns),
                y=y,
                width=max(2.0, axes.x(event.ended_ns) - axes.x(event.began_ns)),
                height=LANE - 8,
                fill="var(--p90)",
            )
            for event in group
        ]
        rows.append([label, *marks])
    return rows
