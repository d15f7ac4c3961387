"""Small parts in a big picture: pieces of other pictures, scaled and laid on a belt, with what is where by construction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from tests.refine.covers_line import objects, parts
from tests.refine.tally import Truth

SIZE = (4000, 3000)
"""12 megapixels."""

MARGIN_PX = 28
"""Of what lies around a part in its own picture and comes along; its edge is blended into the belt."""

BLEND_PX = 10
BELT_GREY = 98.0
CLOUDS = ((400, 4.0), (60, 4.0), (12, 4.0), (3, 3.0))
"""Size in pixels and depth in grey values of the belt's spots."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A part with what is on it, in its own pixels."""

    image: np.ndarray
    truth: Truth


@dataclass(frozen=True, eq=False)
class Scene:
    """A big picture and what is in it."""

    image: np.ndarray
    truth: Truth


def cover_pieces() -> list[Piece]:
    """The parts of the sample line, cut out."""
    pieces = []
    for truth, image in parts():
        there = objects(truth)
        left, top, right, bottom = next(box for name, box in there if name == "cover")
        x, y = max(int(left) - MARGIN_PX, 0), max(int(top) - MARGIN_PX, 0)
        cut = image[y : int(bottom) + MARGIN_PX, x : int(right) + MARGIN_PX]
        pieces.append(Piece(cut, [(name, np.subtract(box, [x, y, x, y])) for name, box in there]))
    return pieces


def scene(
    pieces: Sequence[Piece],
    seed: int,
    *,
    count: tuple[int, int] = (6, 11),
    scale: tuple[float, float] = (0.55, 0.7),
    size_wh: tuple[int, int] = SIZE,
    cell_wh: tuple[int, int] = (720, 560),
) -> Scene:
    """Lay pieces where they fall, none on another, with a dozen spots, rings and fibres that are none.

    Args:
        pieces: what is drawn from.
        seed: the same gives the same scene.
        count: of pieces, least and most.
        scale: of pieces, from and to.
        size_wh: of the picture.
        cell_wh: room for one piece, at least.
    """
    rng = np.random.default_rng(seed)
    image = _belt(rng, size_wh)
    _litter(rng, image)
    columns, rows = size_wh[0] // cell_wh[0], size_wh[1] // cell_wh[1]
    cells = rng.permutation(columns * rows)[: int(rng.integers(count[0], count[1] + 1))]
    truth: list[tuple[str, Sequence[float]]] = []
    for cell in cells.tolist():
        piece, factor = pieces[int(rng.integers(len(pieces)))], rng.uniform(*scale)
        part = cv2.resize(piece.image, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
        height, width = part.shape[:2]
        x = int((cell % columns) * size_wh[0] / columns + rng.uniform(0, size_wh[0] / columns - width))
        y = int((cell // columns) * size_wh[1] / rows + rng.uniform(0, size_wh[1] / rows - height))
        _lay(image[y : y + height, x : x + width], part)
        truth += [(name, np.add(np.multiply(box, factor), (x, y, x, y))) for name, box in piece.truth]
    return Scene(image, truth)


def _belt(rng: np.random.Generator, size_wh: tuple[int, int]) -> np.ndarray:
    width, height = size_wh
    grey = np.full((height, width), BELT_GREY, np.float32)
    for cell, depth in CLOUDS:
        spots = rng.standard_normal((height // cell + 3, width // cell + 3), np.float32) * np.float32(depth)
        grey += cv2.resize(spots, size_wh, interpolation=cv2.INTER_CUBIC)
    grey += rng.standard_normal((height, width), np.float32) * np.float32(1.5)
    return cv2.cvtColor(np.clip(grey, 0, 255).astype(np.uint8), cv2.COLOR_GRAY2BGR)


def _litter(rng: np.random.Generator, image: np.ndarray, count: int = 12) -> None:
    height, width = image.shape[:2]
    for index in range(count):
        at = (int(rng.integers(50, width - 50)), int(rng.integers(50, height - 50)))
        match index % 3:
            case 0:
                cv2.circle(image, at, int(rng.integers(4, 14)), (30, 30, 30), -1, cv2.LINE_AA)
            case 1:
                cv2.circle(image, at, int(rng.integers(6, 16)), (170, 170, 170), int(rng.integers(2, 5)), cv2.LINE_AA)
            case _:
                to = (at[0] + int(rng.integers(-60, 60)), at[1] + int(rng.integers(-60, 60)))
                cv2.line(image, at, to, (150, 150, 150), 1, cv2.LINE_AA)


def _lay(place: np.ndarray, part: np.ndarray) -> None:
    """Blend a part into the place where it lies."""
    height, width = part.shape[:2]
    across, down = (np.minimum(np.arange(side) + 1, side - np.arange(side)) for side in (width, height))
    share = np.clip(np.minimum(across[None], down[:, None]) / BLEND_PX, 0, 1).astype(np.float32)[..., None]
    place[:] = (part * share + place * (1 - share)).astype(np.uint8)
