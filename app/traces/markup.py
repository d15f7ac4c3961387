"""Writes elements of HTML and SVG: escaped, closed, and so well-formed."""

from __future__ import annotations

import math
from html import escape


def tag(name: str, *children: str, **attributes: object) -> str:
    """Return an element.

    Args:
        name: of the element.
        children: markup; plain text goes through `text` first.
        attributes: `class_` and `stroke_width` become `class` and `stroke-width`; what is None or empty is left out.
    """
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value not in (None, "")
    )
    return f"<{name}{said}>{''.join(children)}</{name}>"


def text(words: object) -> str:
    """Return plain text as markup."""
    return escape(str(words))


def tip(words: str) -> str:
    """Return what a browser shows when the pointer rests on an SVG element."""
    return tag("title", text(words))


def ms(value: float | None) -> str:
    """Return milliseconds for a table or a label: two digits that mean something."""
    if value is None:
        return "·"
    if not math.isfinite(value):
        return "∞"
    return f"{value:.2f}" if 0 < abs(value) < 1 else f"{value:.1f}" if abs(value) < 1000 else f"{value:,.0f}"  # noqa: PLR2004 - digits


def ticks(limit: float, count: int = 6) -> list[float]:
    """Return round numbers from 0 up to a limit, about so many."""
    if not limit > 0:
        return [0.0]
    rough = limit / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    return [number * step for number in range(int(limit / step + 1e-9) + 1)]


def _number(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
