"""One colour for each stage, the same in every picture."""

from __future__ import annotations

from app.trace import COLUMN_OF
from app.traces.timing import BETWEEN

LIGHT = {
    "capture": "#2a78d6",
    "wait": "#a3a8ae",
    "preprocess": "#17a673",
    "inference": "#eb6834",
    "postprocess": "#7a4fd0",
    "network": "#c98500",
    "presentation": "#e06fa0",
    BETWEEN: "#d3d6da",
}
DARK = {
    "capture": "#4f95e8",
    "wait": "#7b828a",
    "preprocess": "#22b883",
    "inference": "#f0834f",
    "postprocess": "#9a78ea",
    "network": "#d9a032",
    "presentation": "#ea8cb4",
    BETWEEN: "#4b5158",
}
TERMINAL = {
    "capture": "blue",
    "wait": "bright_black",
    "preprocess": "green",
    "inference": "red",
    "postprocess": "magenta",
    "network": "yellow",
    "presentation": "cyan",
    BETWEEN: "white",
}


def part_of(step: str) -> str:
    """Return the stage that a step's colour is that of."""
    return COLUMN_OF.get(step, BETWEEN)
