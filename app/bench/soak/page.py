"""One page that shows a soak: figures over time with the faults as marks; it opens anywhere and fetches nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import floor

from app.bench.soak.checks import MB, Check, final_counts
from app.bench.soak.run import Found
from app.bench.soak.samples import Sample
from app.traces.markup import tag, text, ticks, tip
from app.traces.style import STYLE

META = '<meta charset="utf-8"/><meta name="viewport" content="width=device-width,initial-scale=1"/>'
WIDTH, LEFT, RIGHT = 1000, 170, 20
HEAD, PLOT, FOOT, LANE = 14, 150, 22, 20
PLOTS: tuple[tuple[str, str, Callable[[Sample], float | None]], ...] = (
    ("Memory", "MB that the line's process holds.", lambda sample: sample.rss_bytes / MB),
    ("Open files", "Sockets, files and what the libraries hold.", lambda sample: sample.files),
    ("Threads", "As the kernel counts them.", lambda sample: sample.threads),
    ("Waiting", "Results that the broker does not have yet.", lambda sample: sample.waiting),
    ("Verdicts a second", "Over all cameras, as the line says itself.", lambda sample: sample.per_s),
)


def page(found: Found, held: Sequence[Check], found_on: Mapping[str, str]) -> str:
    """Return the page."""
    parts = [
        tag("h1", text("Soak")),
        tag("p", text(_what(found))),
        _checks(held),
        _faults(found),
        *(_plot(found, *plot) for plot in PLOTS),
        _ends(found),
        tag("footer", text("; ".join(f"{key}: {value}" for key, value in found_on.items()))),
    ]
    head = tag("head", META, tag("title", text("Taktsight: soak")), tag("style", STYLE))
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', tag('main', *parts)), lang='en')}\n"


def _what(found: Found) -> str:
    return (
        f"{found.plan.seconds / 60:g} minutes, {found.fps:g} pictures a second for each camera, {len(found.judged)} "
        f"results; {len(found.done)} faults in {found.plan.rounds} rounds, of which the first is the warm-up. Grey: "
        "while a fault lasts."
    )


def _checks(held: Sequence[Check]) -> str:
    rows = [
        tag(
            "tr",
            tag("td", text("yes" if check.met else "NO"), class_="name " + ("good" if check.met else "alarm")),
            tag("td", text(check.name), class_="name"),
            tag("td", text(check.text), class_="name", style="white-space:normal"),
        )
        for check in held
    ]
    return tag("section", tag("h2", text("What must hold")), tag("table", *rows))


def _x(at_s: float, found: Found) -> float:
    return LEFT + min(max(at_s / found.plan.seconds, 0.0), 1.0) * (WIDTH - LEFT - RIGHT)


def _faults(found: Found) -> str:
    shapes = []
    for number, kind in enumerate(found.plan.kinds):
        y = HEAD + LANE * number
        shapes.append(tag("text", text(kind.name), x=LEFT - 10, y=y + 11, text_anchor="end", class_="ink"))
        shapes += [
            tag(
                "rect",
                tip(f"{kind.text}: {fault.begins_s:.0f} s to {ended_s:.0f} s"),
                x=_x(fault.begins_s, found),
                y=y,
                width=max(2.0, _x(ended_s, found) - _x(fault.begins_s, found)),
                height=LANE - 7,
                rx=2,
                fill="var(--p90)",
            )
            for fault, ended_s in found.done
            if fault.kind is kind
        ]
    foot = HEAD + LANE * len(found.plan.kinds)
    shapes += _seconds(found, foot)
    words = tag("p", text("Rest the pointer on a mark to see what it was."))
    svg = tag("svg", *shapes, viewBox=f"0 0 {WIDTH} {foot + FOOT}", role="img")
    return tag("section", tag("h2", text("What went wrong, and when")), words, svg)


def _plot(found: Found, title: str, words: str, of: Callable[[Sample], float | None]) -> str:
    points = [(sample.at_s, value) for sample in found.samples if (value := of(sample)) is not None]
    values = [value for _, value in points] or [0.0]
    low = 0.0 if min(values) < max(values) / 2 else floor(min(values) * 0.95)
    high = low + 1.1 * (max(values) - low) or 1.0
    foot = HEAD + PLOT
    shapes = [
        tag("rect", x=_x(fault.begins_s, found), y=HEAD, height=PLOT, fill="var(--line)", fill_opacity="0.6",
            width=max(1.0, _x(ended_s, found) - _x(fault.begins_s, found)))
        for fault, ended_s in found.done
    ]  # fmt: skip
    for tick in ticks(high - low, 4):
        y = HEAD + PLOT * (1 - tick / (high - low))
        shapes.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
        shapes.append(tag("text", text(f"{low + tick:g}"), x=LEFT - 10, y=y + 4, text_anchor="end"))
    path = "".join(
        f"{'L' if number else 'M'}{_x(at_s, found):.1f} {HEAD + PLOT * (1 - (value - low) / (high - low)):.1f}"
        for number, (at_s, value) in enumerate(points)
    )
    shapes.append(tag("path", d=path, fill="none", stroke="var(--p99)", stroke_width=1.5))
    shapes += _seconds(found, foot)
    svg = tag("svg", *shapes, viewBox=f"0 0 {WIDTH} {foot + FOOT}", role="img")
    return tag("section", tag("h2", text(title)), tag("p", text(words)), svg)


def _seconds(found: Found, foot: float) -> list[str]:
    return [
        tag("text", text(f"{tick:g} s"), x=_x(tick, found), y=foot + 16, text_anchor="middle")
        for tick in ticks(found.plan.seconds, 8)
    ]


def _ends(found: Found) -> str:
    rows = [
        tag("tr", tag("td", text(name), class_="name"), tag("td", text(said), class_="name"))
        for name, (said, _) in final_counts(found).items()
    ]
    return tag("section", tag("h2", text("What became of each camera's frames")), tag("table", *rows))
