"""The tables of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from app.latency.percentiles import percentiles
from app.traces.markup import ms, tag, text
from app.traces.tail import Tail
from app.traces.timing import BETWEEN, PARTS, SHOWN, Timing

BAR_WIDTH, BAR_HEIGHT = 180, 12


def budget_table(timings: Sequence[Timing], limits_ms: Mapping[str, float], budget_ms: float) -> str:
    """Return each stage's percentiles beside its share of the budget, with how often it took more."""
    head = _head("stage", "share of the budget", "p50", "p90", "p99", "max", "frames", "breaches")
    rows = []
    for part, samples in samples_of(timings).items():
        limit = limits_ms.get(part)
        rows.append(_budget_row(part, samples, limit, dot=f"var(--{part})"))
    totals = [timing.total_ms for timing in timings]
    rows.append(_budget_row("total, to the broker", totals, budget_ms, style="sum"))
    return _table(head, rows)


def samples_of(timings: Sequence[Timing]) -> dict[str, list[float]]:
    """Return the milliseconds of every stage, of the frames in which it ran, in the order of a frame's path."""
    samples = {part: [timing.parts_ms[part] for timing in timings if timing.parts_ms[part] > 0] for part in PARTS}
    samples[SHOWN] = [timing.shown_ms for timing in timings if timing.shown_ms is not None]
    return {part: values for part, values in samples.items() if values}


def tail_table(tail: Tail) -> str:
    """Return each stage in the slow frames against the others."""
    head = _head("stage", "normal, median", "slow, median", "longer, mean", "share of the tail", "worst in", "")
    rows = []
    for one in tail.excesses:
        is_culprit = tail.culprit is not None and one.part == tail.culprit.part
        cells = [ms(one.normal_ms), ms(one.slow_ms), f"{one.excess_ms:+.1f}", f"{one.share:.0%}", f"{one.made} frames"]
        rows.append(
            tag(
                "tr",
                _name(one.part, f"var(--{one.part})"),
                *(tag("td", text(cell)) for cell in cells),
                tag("td", _bar({one.part: one.share}, 1.0), class_="bar"),
                class_="hit" if is_culprit else "",
            )
        )
    cells = [ms(tail.normal_ms), ms(tail.slow_ms), "", "", "", ""]
    rows.append(tag("tr", _name("total"), *(tag("td", text(cell)) for cell in cells), class_="sum"))
    return _table(head, rows)


def event_table(tail: Tail) -> str:
    """Return how often something happened during slow frames and during the others."""
    head = _head("what", "events", "slow frames", "normal frames", "by chance")
    rows = [
        tag(
            "tr",
            _name(one.label),
            *(
                tag("td", text(cell))
                for cell in (one.events, *(f"{x:.0%}" for x in (one.slow, one.normal, one.chance)))
            ),
            class_="hit" if one.is_telling else "",
        )
        for one in tail.found
    ]
    return _table(head, rows)


def slowest_table(timings: Sequence[Timing]) -> str:
    """Return the slowest frames, each with its stages as one bar."""
    head = _head("trace id", "what", "verdict", "total", "over by", "stages")
    limit = max(timing.total_ms for timing in timings)
    rows = []
    for timing in timings:
        over = ms(timing.total_ms - timing.budget_ms) if timing.is_over else ""
        rows.append(
            tag(
                "tr",
                tag("td", tag("code", text(timing.trace_id)), class_="name"),
                *(tag("td", text(cell)) for cell in (timing.name, timing.verdict, ms(timing.total_ms))),
                tag("td", text(over), class_="alarm"),
                tag("td", _bar(timing.parts_ms, limit), class_="bar"),
            )
        )
    return _table(head, rows)


def mean_parts(timings: Sequence[Timing]) -> dict[str, float]:
    """Return the mean of each stage, which add up to the mean of the totals."""
    return {part: fmean(timing.parts_ms[part] for timing in timings) for part in PARTS}


def key(parts: Sequence[str]) -> str:
    """Return which colour is which stage."""
    words = {BETWEEN: "between the steps"}
    items = [tag("span", tag("i", style=f"background:var(--{part})"), text(words.get(part, part))) for part in parts]
    return tag("div", *items, class_="key")


def _budget_row(name: str, samples: Sequence[float], limit: float | None, *, dot: str = "", style: str = "") -> str:
    found = percentiles(samples)
    over = sum(value > limit for value in samples) if limit else 0
    breaches = "" if limit is None else f"{over} ({over / len(samples):.1%})" if over else "0"
    figures = [found.p50, found.p90, found.p99, found.max]
    return tag(
        "tr",
        _name(name, dot),
        tag("td", text("" if limit is None else f"{ms(limit)} ms")),
        *(tag("td", text(ms(value)), class_="alarm" if limit and value > limit else "") for value in figures),
        tag("td", text(found.count)),
        tag("td", text(breaches), class_="alarm" if over else ""),
        class_=style,
    )


def _bar(parts: Mapping[str, float], limit: float) -> str:
    shapes, x = [], 0.0
    for part, value in parts.items():
        width = BAR_WIDTH * value / limit if limit else 0.0
        shapes.append(
            tag("rect", x=x, y=0, width=max(0.0, width - 0.75), height=BAR_HEIGHT, rx=2, fill=f"var(--{part})")
        )
        x += width
    return tag("svg", *shapes, viewBox=f"0 0 {BAR_WIDTH} {BAR_HEIGHT}", style=f"width:{BAR_WIDTH}px")


def _name(words: str, colour: str = "") -> str:
    dot = tag(
        "i", style=f"display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:8px;background:{colour}"
    )
    return tag("td", (dot if colour else "") + text(words), class_="name")


def _head(first: str, *others: str) -> str:
    return tag("tr", tag("th", text(first), class_="name"), *(tag("th", text(other)) for other in others))


def _table(head: str, rows: Sequence[str]) -> str:
    return tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), class_="scroll")
