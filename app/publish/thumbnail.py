"""A picture as a watcher gets it: small, the verdict drawn on, as JPEG."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np

from app.bgr import to_bgr
from app.frame import AnyImage, Image
from app.publish.draw import annotate
from app.verdict import Outcome


def thumbnail(outcome: Outcome, image: AnyImage, max_side_px: int, quality: int) -> bytes:
    """Return a JPEG of the picture, at most so long below its banner; made small first, so that words stay readable.

    Args:
        outcome: boxes are in pixels of the picture.
        image: in the camera's own format, only read; may be empty.
        max_side_px: of the picture's longer side; a smaller picture stays as it is.
        quality: of the JPEG, 1 … 100.
    """
    image_hwc = to_bgr(image)
    factor = max_side_px / max(*image_hwc.shape[:2], 1)
    if factor < 1:
        image_hwc = _shrunk(image_hwc, factor)
        outcome = _on_shrunk(outcome, factor)
    is_encoded, data = cv2.imencode(".jpg", annotate(outcome, image_hwc), [cv2.IMWRITE_JPEG_QUALITY, quality])
    assert is_encoded, "OpenCV can write JPEG"
    return data.tobytes()


def _shrunk(image_hwc: Image, factor: float) -> Image:
    height, width = image_hwc.shape[:2]
    size_wh = max(1, round(width * factor)), max(1, round(height * factor))
    small: Image = cv2.resize(image_hwc, size_wh, interpolation=cv2.INTER_AREA).astype(np.uint8, copy=False)
    return small


def _on_shrunk(outcome: Outcome, factor: float) -> Outcome:
    """Return the outcome with its boxes in pixels of the small picture."""
    detections = replace(outcome.detections, xyxy=outcome.detections.xyxy * np.float32(factor))
    region = outcome.region_xyxy
    if region is not None:
        left, top, right, bottom = region
        region = left * factor, top * factor, right * factor, bottom * factor
    return replace(outcome, detections=detections, region_xyxy=region)
