"""Scenes of boxes, and a model that sees what is really in its crop: what a perfect detector would answer."""

import numpy as np

from app.detections import Detections

NAMES = ("cover", "screw", "hole", "brass", "scratch")


def found(*rows, names=NAMES):
    """Detections of rows (x1, y1, x2, y2, score) or (…, score, class), best first; the class is a screw by default."""
    table = np.array([(*row, 1)[:6] for row in rows], np.float64).reshape(-1, 6)
    table = table[np.argsort(-table[:, 4], kind="stable")]
    return Detections(
        table[:, :4].astype(np.float32), table[:, 4].astype(np.float32), table[:, 5].astype(np.int64), names
    )


def rows_of(detections):
    """The rows that `found` takes, rounded to what a person can compare."""
    return [
        (*(round(float(edge), 2) for edge in box), round(float(score), 3), int(cls))
        for box, score, cls in zip(detections.xyxy, detections.scores, detections.classes, strict=True)
    ]


def boxes_of(detections):
    return [row[:4] for row in rows_of(detections)]


def seen_in(region, *objects, least_px=4):
    """What a model finds in a crop: every object that shows there, cut off at the crop's edges, in its own pixels."""
    left, top, right, bottom = region
    rows = []
    for x1, y1, x2, y2, *rest in objects:
        box = (max(x1, left) - left, max(y1, top) - top, min(x2, right) - left, min(y2, bottom) - top)
        if box[2] - box[0] >= least_px and box[3] - box[1] >= least_px:
            rows.append((*box, *rest))
    return found(*rows)
