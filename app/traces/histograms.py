"""How each stage's times are spread: small pictures with one common logarithmic scale."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from app.latency.percentiles import Percentiles, percentiles
from app.traces.markup import ms, tag, text, tip

COLUMNS, WIDTH, HEIGHT = 2, 490, 132
GAP, HEAD, FOOT, LEFT = 20, 24, 22, 4
PER_DECADE = 10
SHORTEST_MS = 0.02
"""What is shorter is drawn in the first bucket."""


def histograms(samples_ms: Mapping[str, Sequence[float]], limits_ms: Mapping[str, float]) -> str:
    """Return the pictures.

    Args:
        samples_ms: by stage.
        limits_ms: what each stage may take, where that is known; drawn as a line.
    """
    longest = max((max(samples) for samples in samples_ms.values() if samples), default=1.0)
    first, last = _bucket(SHORTEST_MS), _bucket(max(longest, *limits_ms.values(), 1.0)) + 1
    rows = math.ceil(len(samples_ms) / COLUMNS)
    shapes = [
        tag(
            "g",
            *_one(stage, samples, limits_ms.get(stage), first, last),
            transform=f"translate({(number % COLUMNS) * (WIDTH + GAP)} {(number // COLUMNS) * (HEIGHT + GAP)})",
        )
        for number, (stage, samples) in enumerate(samples_ms.items())
    ]
    size = f"0 0 {COLUMNS * (WIDTH + GAP) - GAP} {rows * (HEIGHT + GAP)}"
    return tag("svg", *shapes, viewBox=size, role="img")


def _one(stage: str, samples: Sequence[float], limit_ms: float | None, first: int, last: int) -> list[str]:
    found = percentiles(samples)
    per_bucket = (WIDTH - 2 * LEFT) / (last - first)
    foot = HEIGHT - FOOT

    def x(value_ms: float) -> float:
        return LEFT + (math.log10(max(value_ms, SHORTEST_MS)) * PER_DECADE - first) * per_bucket

    shapes = [*_axis(first, last, x, foot), *_bars(stage, samples, first, per_bucket, foot)]
    if limit_ms:
        shapes.append(tag("line", tip(f"its share of the budget: {ms(limit_ms)} ms"), x1=x(limit_ms), x2=x(limit_ms),
                          y1=HEAD - 2, y2=foot, class_="budget"))  # fmt: skip
    for name, value in (("p50", found.p50), ("p99", found.p99)):
        at = x(value)
        shapes.append(tag("line", x1=at, x2=at, y1=HEAD, y2=foot, stroke="var(--ink)", stroke_width=1.5))
        shapes.append(tag("text", text(name), x=at + 3, y=HEAD + 8, font_size=10))
    return [*_title(stage, found), *shapes]


def _title(stage: str, found: Percentiles) -> list[str]:
    figures = f"p50 {ms(found.p50)}   p99 {ms(found.p99)}   max {ms(found.max)} ms   n {found.count}"
    return [
        tag("rect", x=LEFT, y=3, width=10, height=10, rx=3, fill=f"var(--{stage})"),
        tag("text", text(stage), x=LEFT + 16, y=12, class_="strong"),
        tag("text", text(figures), x=WIDTH - LEFT, y=12, text_anchor="end"),
    ]


def _bars(stage: str, samples: Sequence[float], first: int, per_bucket: float, foot: float) -> list[str]:
    counts = Counter(_bucket(value) for value in samples)
    highest = max(counts.values(), default=1)
    shapes = []
    for bucket, count in sorted(counts.items()):
        # The root of the count, so that the few frames of the tail can be seen beside the many.
        height = max(2.0, (foot - HEAD - 12) * math.sqrt(count / highest))
        low, high = (10 ** (edge / PER_DECADE) for edge in (bucket, bucket + 1))
        shapes.append(
            tag(
                "rect",
                tip(f"{count} frames from {ms(low)} to {ms(high)} ms"),
                x=LEFT + (bucket - first) * per_bucket,
                y=foot - height,
                width=max(1.0, per_bucket - 1),
                height=height,
                fill=f"var(--{stage})",
            )
        )
    return shapes


def _axis(first: int, last: int, x: Callable[[float], float], foot: float) -> list[str]:
    shapes = [tag("line", x1=LEFT, x2=WIDTH - LEFT, y1=foot, y2=foot, class_="grid")]
    for power in range(math.ceil(first / PER_DECADE), last // PER_DECADE + 1):
        value_ms = 10.0**power
        shapes.append(tag("line", x1=x(value_ms), x2=x(value_ms), y1=HEAD, y2=foot, class_="grid"))
        shapes.append(tag("text", text(f"{value_ms:g} ms"), x=x(value_ms), y=foot + 14, text_anchor="middle"))
    return shapes


def _bucket(value_ms: float) -> int:
    return math.floor(math.log10(max(value_ms, SHORTEST_MS)) * PER_DECADE + 1e-9)
