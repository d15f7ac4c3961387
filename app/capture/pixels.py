"""Any array that a camera or decoder gives, as a picture: uint8 BGR, contiguous."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.frame import Image
from app.verdict import Code, Reason


def to_bgr(array: NDArray[Any] | None, bit_depth: int | None = None) -> Image | Reason:
    """Return `array` as uint8 (h, w, 3) BGR, or the reason why it is no picture.

    Args:
        array: (h, w), (h, w, 1), (h, w, 3) BGR or (h, w, 4) BGRA; uint8, or uint16 with `bit_depth`. Alpha is dropped,
            not blended.
        bit_depth: how many bits of a uint16 array are really used. Without it such an array is refused: a 12-bit
            picture read as 16-bit is nearly black.
    """
    if array is None or array.size == 0:
        return Reason(Code.UNREADABLE, "the picture is empty")
    match array.shape:
        case (_, _):
            array = array[:, :, np.newaxis]
        case (_, _, 1 | 3 | 4):
            pass
        case shape:
            return Reason(Code.WRONG_FORMAT, f"an array of shape {shape} is no picture; expected grey, BGR or BGRA")
    narrow = _to_uint8(array[:, :, :3], bit_depth)
    if isinstance(narrow, Reason):
        return narrow
    return np.repeat(narrow, 3, axis=2) if narrow.shape[2] == 1 else np.ascontiguousarray(narrow)


def _to_uint8(array: NDArray[Any], bit_depth: int | None) -> Image | Reason:
    """Scale the used bits of a uint16 array to 0 … 255; uint8 passes as it is."""
    if array.dtype == np.uint8:
        return array
    if array.dtype != np.uint16:
        return Reason(Code.WRONG_FORMAT, f"pixels are {array.dtype}; expected uint8, or uint16 with bit_depth set")
    if bit_depth is None:
        return Reason(Code.WRONG_FORMAT, "pixels have 16 bits; set bit_depth to how many are used, e.g. 12")
    most, highest = (1 << bit_depth) - 1, int(array.max())
    if highest > most:
        return Reason(Code.WRONG_FORMAT, f"a pixel is {highest}, more than bit_depth {bit_depth} allows ({most})")
    levels = np.round(np.arange(most + 1) * (255 / most)).astype(np.uint8)
    return np.asarray(levels[array], np.uint8)
