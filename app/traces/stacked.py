"""Bars in which each stage is one piece, on one scale with the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.traces.markup import ms, tag, text, ticks, tip
from app.traces.timing import BETWEEN

WIDTH, LEFT, RIGHT = 1000, 190, 70
ROW, BAR, HEAD = 46, 28, 22
WIDE_FOR_A_NUMBER, WIDE_FOR_A_NAME = 34.0, 112.0


def stacked(rows: Sequence[tuple[str, Mapping[str, float]]], budget_ms: float) -> str:
    """Return the picture.

    Args:
        rows: a label and the milliseconds by stage, in the order of the path.
        budget_ms: drawn as a line across all rows.
    """
    limit = 1.06 * max(budget_ms, *(sum(parts.values()) for _, parts in rows))
    per_ms = (WIDTH - LEFT - RIGHT) / limit
    height = HEAD + ROW * len(rows) + 22
    foot = HEAD + ROW * len(rows)
    shapes = [*_scale(limit, per_ms, foot)]
    for number, (label, parts) in enumerate(rows):
        top = HEAD + ROW * number + (ROW - BAR) / 2
        shapes.append(tag("text", text(label), x=LEFT - 12, y=top + 18, text_anchor="end", class_="ink"))
        shapes += _pieces(parts, per_ms, top)
        total = sum(parts.values())
        style = "over" if total > budget_ms else "strong"
        shapes.append(tag("text", text(f"{ms(total)} ms"), x=LEFT + total * per_ms + 8, y=top + 18, class_=style))
    x = LEFT + budget_ms * per_ms
    shapes.append(tag("line", x1=x, x2=x, y1=HEAD - 6, y2=foot, class_="budget"))
    said = text(f"budget {ms(budget_ms)} ms")
    shapes.append(tag("text", said, x=x, y=HEAD - 10, text_anchor="middle", class_="over"))
    return tag("svg", *shapes, viewBox=f"0 0 {WIDTH} {height}", role="img")


def _pieces(parts: Mapping[str, float], per_ms: float, top: float) -> list[str]:
    shapes, x = [], float(LEFT)
    for part, spent_ms in parts.items():
        width = spent_ms * per_ms
        title = tip(f"{part}: {ms(spent_ms)} ms")
        shapes.append(
            tag("rect", title, x=x, y=top, width=max(0.5, width - 1.5), height=BAR, rx=3, fill=f"var(--{part})")
        )
        if width > WIDE_FOR_A_NUMBER:
            style = "ink" if part == BETWEEN else "on"  # its colour is too light for white letters
            words = f"{part} {ms(spent_ms)}" if width > WIDE_FOR_A_NAME else ms(spent_ms)
            shapes.append(tag("text", text(words), x=x + width / 2, y=top + 18, text_anchor="middle", class_=style))
        x += width
    return shapes


def _scale(limit: float, per_ms: float, foot: float) -> list[str]:
    shapes = []
    for tick in ticks(limit, 8):
        x = LEFT + tick * per_ms
        shapes.append(tag("line", x1=x, x2=x, y1=HEAD, y2=foot, class_="grid"))
        shapes.append(tag("text", text(f"{tick:g}"), x=x, y=foot + 16, text_anchor="middle"))
    return shapes
