"""The results of two machines for the same pictures: is each verdict the same, and how far are its boxes apart?"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCORE = 0.005
"""How far apart two scores of one object may be."""
PIXELS = 0.5
"""How far apart two edges of one box may be."""


@dataclass(frozen=True, slots=True)
class Row:
    """One picture as both machines saw it.

    Attributes:
        picture: its file.
        verdicts: of the reference and of the candidate.
        boxes: how many both found.
        score, pixels: the largest differences of the boxes' scores and edges.
        faults: what is not the same, in words; none if all is.
    """

    picture: str
    verdicts: tuple[str, str]
    boxes: int
    score: float
    pixels: float
    faults: tuple[str, ...]


def read_results(path: Path) -> dict[str, dict[str, Any]]:
    """Return the last word on each picture, by its file."""
    messages = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {message["label"]: message for message in messages if message["type"] == "result"}


def compare(reference: dict[str, dict[str, Any]], candidate: dict[str, dict[str, Any]]) -> list[Row]:
    """Compare picture by picture; one that only one machine has is a fault."""
    return [_row(name, reference.get(name), candidate.get(name)) for name in sorted({*reference, *candidate})]


def _row(picture: str, one: dict[str, Any] | None, other: dict[str, Any] | None) -> Row:
    if one is None or other is None:
        verdicts = tuple("–" if result is None else result["verdict"] for result in (one, other))
        return Row(picture, (verdicts[0], verdicts[1]), 0, 0, 0, ("only one of both has a result",))
    faults = []
    if one["verdict"] != other["verdict"]:
        faults.append("another verdict")
    if [_words(reason) for reason in one["reasons"]] != [_words(reason) for reason in other["reasons"]]:
        faults.append(f"other reasons: {one['reasons']} and {other['reasons']}")
    found = [Counter(box["class"] for box in result["detections"]) for result in (one, other)]
    score, pixels = _apart(one["detections"], other["detections"]) if found[0] == found[1] else (0.0, 0.0)
    if found[0] != found[1]:
        faults.append(f"other objects: {dict(found[0])} and {dict(found[1])}")
    if score > SCORE or pixels > PIXELS:
        faults.append(f"boxes differ by {score:.4f} and {pixels:.2f} px")
    return Row(picture, (one["verdict"], other["verdict"]), found[0].total(), score, pixels, tuple(faults))


def _words(reason: dict[str, Any]) -> tuple[str, str]:
    """Return a reason's code, and its text without the numbers of scores and places, which are compared as boxes."""
    return reason["code"], re.sub(r"\d+(\.\d+)?", "#", reason["text"])


def _apart(ones: list[dict[str, Any]], others: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the largest differences of scores and of edges; each box is paired with the nearest that is left."""
    left, score, pixels = list(others), 0.0, 0.0
    for one in ones:
        partner = min((box for box in left if box["class"] == one["class"]), key=lambda box: _edges(one, box))
        left.remove(partner)
        score = max(score, abs(one["score"] - partner["score"]))
        pixels = max(pixels, _edges(one, partner))
    return score, pixels


def _edges(one: dict[str, Any], other: dict[str, Any]) -> float:
    return max(abs(a - b) for a, b in zip(one["xyxy"], other["xyxy"], strict=True))
