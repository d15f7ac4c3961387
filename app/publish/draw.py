"""An outcome drawn on its picture, for people: boxes, what decided, a banner with the verdict and its reasons."""

from __future__ import annotations

import unicodedata

import cv2
import numpy as np

from app.frame import Image
from app.publish.clock import iso_utc
from app.verdict import Code, Outcome, Verdict

Colour = tuple[int, int, int]

FONT = cv2.FONT_HERSHEY_SIMPLEX
WHITE: Colour = (255, 255, 255)
PANEL: Colour = (38, 34, 32)
QUIET: Colour = (200, 200, 170)
DECISIVE: Colour = (40, 40, 230)
COUNTED: Colour = (20, 140, 230)
LAYERS = [QUIET, COUNTED, DECISIVE]
"""What matters most lies on top."""
REGION: Colour = (235, 190, 60)
VERDICT_COLOURS: dict[Verdict, Colour] = {
    Verdict.OK: (80, 160, 40),
    Verdict.NG: (40, 40, 210),
    Verdict.UNKNOWN: (20, 150, 230),
}
MAX_REASONS = 4
NO_PICTURE_WH = (640, 360)
LETTERS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "×": "x", "–": "-", "µ": "u"}
)


def annotate(outcome: Outcome, image_hwc: Image) -> Image:
    """Return a new picture: the outcome's, drawn on, below a banner.

    Args:
        outcome: boxes are in pixels of the picture.
        image_hwc: uint8 (h, w, 3) BGR, only read; may be empty, then a dark field stands for it.
    """
    picture = image_hwc.copy() if image_hwc.size else np.full((*NO_PICTURE_WH[::-1], 3), PANEL, np.uint8)
    scale = min(max(picture.shape[1] / 1280, 0.6), 3.0)
    if outcome.region_xyxy is not None:
        _corners(picture, outcome.region_xyxy, scale)
    inks = _inks(outcome)
    for row in sorted(range(len(outcome.detections)), key=lambda row: LAYERS.index(inks.get(row, QUIET))):
        _box(picture, outcome, row, inks.get(row, QUIET), scale)
    banner = _banner(outcome, picture.shape[1], scale)
    drawn: Image = np.vstack([banner, picture])
    return drawn


def _inks(outcome: Outcome) -> dict[int, Colour]:
    """Return the colours of the rows that decided: what was counted is there by right, all else should not be."""
    reasons = outcome.judgement.reasons
    counted = {row: COUNTED for reason in reasons if reason.code is Code.COUNT for row in reason.boxes}
    decisive = {row: DECISIVE for reason in reasons if reason.code is not Code.COUNT for row in reason.boxes}
    return counted | decisive


def _box(picture: Image, outcome: Outcome, row: int, colour: Colour, scale: float) -> None:
    detections = outcome.detections
    if not (np.isfinite(detections.xyxy[row]).all() and np.isfinite(detections.scores[row])):
        return
    height, width = picture.shape[:2]
    left, top, right, bottom = (round(float(v)) for v in np.clip(detections.xyxy[row], -1e4, 1e5))
    is_decisive = colour != QUIET
    thickness = _px(3 if is_decisive else 1, scale)
    cv2.rectangle(picture, (left, top), (right, bottom), colour, thickness, cv2.LINE_AA)
    text = _ascii(f"{detections.name(row)} {float(detections.scores[row]):.2f}")
    size = (0.65 if is_decisive else 0.5) * scale
    (text_w, text_h), baseline = cv2.getTextSize(text, FONT, size, _px(1, scale))
    pad = _px(3, scale)
    x = min(max(left, 0), max(width - text_w - 2 * pad, 0))
    above = top - text_h - baseline - 2 * pad
    y = above if above >= 0 else min(max(top, 0), height - text_h - baseline - 2 * pad)
    cv2.rectangle(picture, (x, y), (x + text_w + 2 * pad, y + text_h + baseline + 2 * pad), colour, cv2.FILLED)
    ink = WHITE if is_decisive else PANEL
    cv2.putText(picture, text, (x + pad, y + text_h + pad), FONT, size, ink, _px(1, scale), cv2.LINE_AA)


def _corners(picture: Image, region_xyxy: tuple[float, float, float, float], scale: float) -> None:
    """Mark the corners of the part's region, so that its edges stay free to be seen."""
    if not np.isfinite(region_xyxy).all():
        return
    left, top, right, bottom = (round(v) for v in region_xyxy)
    arm = max(min(right - left, bottom - top) // 8, 4)
    for x, along_x in ((left, arm), (right, -arm)):
        for y, along_y in ((top, arm), (bottom, -arm)):
            cv2.line(picture, (x, y), (x + along_x, y), REGION, _px(2, scale), cv2.LINE_AA)
            cv2.line(picture, (x, y), (x, y + along_y), REGION, _px(2, scale), cv2.LINE_AA)


def _banner(outcome: Outcome, width: int, scale: float) -> Image:
    """Return a strip of the picture's width: the verdict, what and when, one line for each reason."""
    verdict = outcome.judgement.verdict
    line_px = _px(26, scale)
    reasons = [_ascii(reason.text or reason.code.value) for reason in outcome.judgement.reasons]
    if len(reasons) > MAX_REASONS:
        reasons[MAX_REASONS - 1 :] = [f"and {len(reasons) - MAX_REASONS + 1} more"]
    height = line_px * (1 + max(len(reasons), 1)) + _px(12, scale)
    banner = np.full((height, width, 3), PANEL, np.uint8)
    word_scale = 1.3 * scale
    (word_w, word_h), _ = cv2.getTextSize(verdict.value, FONT, word_scale, _px(3, scale))
    block_w = word_w + _px(32, scale)
    cv2.rectangle(banner, (0, 0), (block_w, height), VERDICT_COLOURS[verdict], cv2.FILLED)
    at = (_px(16, scale), (height + word_h) // 2)
    cv2.putText(banner, verdict.value, at, FONT, word_scale, WHITE, _px(3, scale), cv2.LINE_AA)
    for number, text in enumerate([_headline(outcome), *reasons]):
        ink = QUIET if number == 0 else WHITE
        at = (block_w + _px(14, scale), line_px * (number + 1) - _px(4, scale))
        room = width - at[0] - _px(6, scale)
        cv2.putText(banner, text, at, FONT, _fitting(text, room, 0.6 * scale), ink, _px(1, scale), cv2.LINE_AA)
    return banner


def _headline(outcome: Outcome) -> str:
    part = "" if outcome.part is None else f"part {outcome.part}"
    when = iso_utc(outcome.captured_utc_ns).replace("T", " ")
    return _ascii("   ".join(filter(None, (outcome.camera, part, outcome.label, f"#{outcome.seq}", when))))


def _fitting(text: str, room_px: int, wanted: float) -> float:
    """Return the font scale at which the text fits, at most the one wanted."""
    (width, _), _ = cv2.getTextSize(text, FONT, wanted, 1)
    return wanted if width <= room_px else max(wanted * room_px / max(width, 1), 0.3)


def _px(pixels: float, scale: float) -> int:
    return max(1, round(pixels * scale))


def _ascii(text: str) -> str:
    """Return the text in the letters that the font has."""
    plain = unicodedata.normalize("NFKD", text.translate(LETTERS))
    return "".join(c if c.isascii() else "?" for c in plain if not unicodedata.combining(c))
