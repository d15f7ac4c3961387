"""One picture file, decoded or refused with a reason."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from app.capture.endings import reaches_its_end
from app.capture.pixels import to_bgr
from app.frame import Image
from app.verdict import Code, Reason

SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".pgm", ".ppm"})
"""What counts as a picture in a folder, in any case."""

# Three channels in the file's own depth; unlike IMREAD_UNCHANGED this turns the picture as its EXIF data asks.
_FLAGS = cv2.IMREAD_COLOR | cv2.IMREAD_ANYDEPTH


def load(path: Path, bit_depth: int | None = None) -> Image | Reason:
    """Read and decode one file, turned upright by its EXIF orientation.

    Returns:
        uint8 (h, w, 3) BGR, the caller's own; or why there is none.
    """
    try:
        # The bytes are read here and not by OpenCV, which stumbles over some names.
        data = path.read_bytes()
    except OSError as error:
        return Reason(Code.UNREADABLE, f"the file can't be read: {error.strerror}")
    return decode(data, bit_depth)


def decode(data: bytes, bit_depth: int | None = None) -> Image | Reason:
    """Decode the bytes of one picture file; a cut one is refused before a decoder can fill it up."""
    if not data:
        return Reason(Code.UNREADABLE, "the file has 0 bytes")
    if reaches_its_end(data) is False:
        return Reason(Code.TORN, f"the picture is cut off after {len(data)} bytes: its end marker is missing")
    try:
        array = cv2.imdecode(np.frombuffer(data, np.uint8), _FLAGS)
    except cv2.error as error:
        return Reason(Code.UNREADABLE, f"the picture can't be decoded: {error.err}")
    if array is None:
        return Reason(Code.UNREADABLE, f"the {len(data)} bytes are no picture that OpenCV can decode")
    return to_bgr(array, bit_depth)
