"""One picture as the model and as the candidate see it, side by side; what is lost or invented stands out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from app.agreement import Compared
from app.detections import Detections
from app.frame import Image

Colour = tuple[int, int, int]

PANEL_PX = 560
"""Width of each side."""

ZOOM_PX = 180
MOST_ZOOMS = 3
STRIP_PX = 26
GAP_PX = 8
FONT = cv2.FONT_HERSHEY_SIMPLEX
BACK: Colour = (38, 34, 32)
WHITE: Colour = (255, 255, 255)
SAME: Colour = (200, 200, 170)
LOST: Colour = (40, 40, 230)
INVENTED: Colour = (20, 140, 230)


@dataclass(frozen=True, slots=True)
class _Box:
    """One box to draw, in pixels of the picture.

    Attributes:
        ghost: it is not there: the place is shown where the other side has it.
    """

    corners: tuple[float, float, float, float]
    text: str
    colour: Colour
    ghost: bool = False


def side_by_side(
    image_hwc: Image, compared: Compared, titles: tuple[str, str] = ("the model", "the candidate")
) -> Image:
    """Return a new picture: left what the model finds, right the candidate, below both what differs, enlarged.

    Args:
        image_hwc: uint8 (h, w, 3) BGR, only read.
        compared: boxes are in pixels of it.
        titles: of both sides.
    """
    sides = (list(_model(compared)), list(_candidate(compared)))
    panels = [_panel(image_hwc, boxes, PANEL_PX, title) for boxes, title in zip(sides, titles, strict=True)]
    rows = [np.hstack([panels[0], _gap(panels[0].shape[0]), panels[1]])]
    places = [box.corners for box in (*sides[0], *sides[1]) if box.colour != SAME and not box.ghost]
    if places:
        strips = [np.hstack([_zooms(image_hwc, boxes, places[:MOST_ZOOMS])]) for boxes in sides]
        rows.append(np.hstack([strips[0], _gap(strips[0].shape[0]), strips[1]]))
    drawn: Image = np.vstack(rows)
    return drawn


def _model(compared: Compared) -> Iterator[_Box]:
    found, pairing = compared.reference, compared.pairing
    yield from (_box(found, row, SAME) for row in pairing.pairs[:, 0].tolist())
    yield from (_box(compared.candidate, row, INVENTED, ghost=True) for row in pairing.invented.tolist())
    yield from (_box(found, row, LOST) for row in pairing.lost.tolist())


def _candidate(compared: Compared) -> Iterator[_Box]:
    found, pairing = compared.candidate, compared.pairing
    yield from (_box(found, row, SAME) for row in pairing.pairs[:, 1].tolist())
    yield from (_box(compared.reference, row, LOST, ghost=True) for row in pairing.lost.tolist())
    yield from (_box(found, row, INVENTED) for row in pairing.invented.tolist())


def _box(found: Detections, row: int, colour: Colour, *, ghost: bool = False) -> _Box:
    left, top, right, bottom = np.nan_to_num(found.xyxy[row], nan=0, posinf=1e5, neginf=-1e4).tolist()
    text = "" if ghost else f"{found.name(row)} {float(found.scores[row]):.2f}"
    return _Box((left, top, right, bottom), text, colour, ghost)


def _panel(image_hwc: Image, boxes: Sequence[_Box], width: int, title: str) -> Image:
    """Return the picture at that width with boxes on it, under a title."""
    scale = width / image_hwc.shape[1]
    height = max(round(image_hwc.shape[0] * scale), 1)
    picture = _resized(image_hwc, (width, height))
    for box in boxes:
        _draw(picture, box, scale, (0.0, 0.0))
    strip = np.full((STRIP_PX, width, 3), BACK, np.uint8)
    cv2.putText(strip, title, (8, STRIP_PX - 8), FONT, 0.5, WHITE, 1, cv2.LINE_AA)
    panel: Image = np.vstack([strip, picture])
    return panel


def _zooms(image_hwc: Image, boxes: Sequence[_Box], places: Sequence[tuple[float, float, float, float]]) -> Image:
    """Return the places, enlarged, in one strip as wide as a panel."""
    strip = np.full((ZOOM_PX + GAP_PX, PANEL_PX, 3), BACK, np.uint8)
    height, width = image_hwc.shape[:2]
    for number, (left, top, right, bottom) in enumerate(places):
        side = round(min(max(right - left, bottom - top, 24) * 1.6, height, width))
        x = round(min(max((left + right - side) / 2, 0), width - side))
        y = round(min(max((top + bottom - side) / 2, 0), height - side))
        view = _resized(image_hwc[y : y + side, x : x + side], (ZOOM_PX, ZOOM_PX))
        for box in boxes:
            _draw(view, box, ZOOM_PX / side, (x, y))
        at = number * (ZOOM_PX + GAP_PX)
        strip[GAP_PX:, at : at + ZOOM_PX] = view
    return strip


def _draw(picture: Image, box: _Box, scale: float, origin: tuple[float, float]) -> None:
    x, y = origin
    left, top, right, bottom = box.corners
    first = round((left - x) * scale), round((top - y) * scale)
    last = round((right - x) * scale), round((bottom - y) * scale)
    if last[0] < 0 or last[1] < 0 or first[0] > picture.shape[1] or first[1] > picture.shape[0]:
        return
    if box.ghost:
        _dashed(picture, first, last, box.colour)
        return
    cv2.rectangle(picture, first, last, box.colour, 1 if box.colour == SAME else 2, cv2.LINE_AA)
    (text_w, text_h), _ = cv2.getTextSize(box.text, FONT, 0.4, 1)
    at_x = min(max(first[0], 0), max(picture.shape[1] - text_w - 4, 0))
    at_y = max(first[1] - text_h - 6, 0)
    cv2.rectangle(picture, (at_x, at_y), (at_x + text_w + 4, at_y + text_h + 6), box.colour, cv2.FILLED)
    ink = BACK if box.colour == SAME else WHITE
    cv2.putText(picture, box.text, (at_x + 2, at_y + text_h + 2), FONT, 0.4, ink, 1, cv2.LINE_AA)


def _dashed(picture: Image, first: tuple[int, int], last: tuple[int, int], colour: Colour) -> None:
    """Draw a frame of dashes."""
    for x in range(first[0], last[0], 8):
        for y in (first[1], last[1]):
            cv2.line(picture, (x, y), (min(x + 4, last[0]), y), colour, 2)
    for y in range(first[1], last[1], 8):
        for x in (first[0], last[0]):
            cv2.line(picture, (x, y), (x, min(y + 4, last[1])), colour, 2)


def _resized(image_hwc: Image, size_wh: tuple[int, int]) -> Image:
    how = cv2.INTER_AREA if size_wh[0] < image_hwc.shape[1] else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image_hwc, size_wh, interpolation=how), np.uint8)


def _gap(height: int) -> Image:
    gap: Image = np.full((height, GAP_PX, 3), BACK, np.uint8)
    return gap
