"""How a picture is shrunk: bilinear, or by area where it shrinks so much that bilinear would miss what is small."""

from __future__ import annotations

from enum import Enum
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.letterbox import Letterbox

Asked: TypeAlias = Literal["auto", "linear", "area"]

AREA_FROM = 4.0
"""Picture pixels per network pixel, along each axis, from which on `auto` means area.

Bilinear looks at two by two pixels, however many there are. From four by four on it misses half of all lines one pixel
wide, and which half changes with every step of the belt.
"""


class Filter(str, Enum):
    """How the pixels of a network's input are made of the picture's."""

    LINEAR = "linear"  # of the two by two pixels around its centre, as the training tools do
    AREA = "area"  # of all pixels that it covers, each by the share that is covered


def choose(letterbox: Letterbox, asked: Asked) -> Filter:
    """Return the filter for one picture in one network; every preprocessor, on whatever device, must ask here.

    A side that grows has no area to take the mean of: then it is bilinear whatever is asked.
    """
    shrink = min(side / small for side, small in zip(letterbox.image_wh, letterbox.resized_wh, strict=True))
    least = {"auto": AREA_FROM, "area": 1.0, "linear": np.inf}[asked]
    return Filter.AREA if shrink >= least else Filter.LINEAR


def weights(pixels: int, small: int, kind: Filter) -> NDArray[np.float64]:
    """Return what each of `small` pixels takes of each of `pixels` along one axis, (small, pixels), rows that sum to 1.

    Both filters are separable: a picture is resized by this matrix for its rows and another for its columns. This is
    their definition; kernels and OpenCV's ways are checked against it.
    """
    return _area(pixels, small) if kind is Filter.AREA else _linear(pixels, small)


def _linear(pixels: int, small: int) -> NDArray[np.float64]:
    """Pixel i's centre lies at (i + 0.5) * pixels / small - 0.5; beyond the edges the last pixel goes on."""
    centres = np.clip((np.arange(small) + 0.5) * (pixels / small) - 0.5, 0, pixels - 1)
    first = np.floor(centres).astype(np.intp)
    second = np.minimum(first + 1, pixels - 1)
    share = centres - first
    matrix = np.zeros((small, pixels))
    rows = np.arange(small)
    np.add.at(matrix, (rows, first), 1 - share)
    np.add.at(matrix, (rows, second), share)
    return matrix


def _area(pixels: int, small: int) -> NDArray[np.float64]:
    """Pixel i covers i * pixels / small to (i + 1) * pixels / small."""
    edges = np.arange(small + 1)[:, np.newaxis] * (pixels / small)
    begins, ends = np.arange(pixels), np.arange(pixels) + 1
    covered = np.minimum(edges[1:], ends) - np.maximum(edges[:-1], begins)
    matrix: NDArray[np.float64] = np.maximum(covered, 0) / (pixels / small)
    return matrix
