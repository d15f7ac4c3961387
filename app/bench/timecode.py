"""A time painted into a picture as black and white squares, and read from it: what a stopwatch before the lens shows.

Standard library only, because a server run by another Python paints with it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

SQUARE_PX = 24
COLUMNS, ROWS = 16, 5
"""Four rows hold 64 bits of nanoseconds, the last one their check sum."""
WIDTH_PX, HEIGHT_PX = COLUMNS * SQUARE_PX, ROWS * SQUARE_PX
DARK, BRIGHT = 16, 235
"""Video's own black and white, so that no conversion of ranges clips them."""
_WORD = (1 << COLUMNS) - 1


class Plane(Protocol):
    """Grey values that can be looked up by row and column, e.g. an array (height, width)."""

    def __getitem__(self, place: tuple[int, int]) -> float:
        """Return the value at row, column."""
        ...


def paint(rows: memoryview, stride: int, pixel_bytes: int, time_ns: int) -> None:
    """Paint a time into the top left of a picture.

    Args:
        rows: the picture's bytes, writable, one dimension.
        stride: bytes from one row to the next.
        pixel_bytes: of one pixel; all of them are set alike, so grey, BGR and the luma of I420 are painted the same.
        time_ns: 0 … 2⁶⁴ − 1.
    """
    for row, word in enumerate(_words(time_ns)):
        line = bytearray()
        for column in range(COLUMNS):
            value = BRIGHT if word >> (COLUMNS - 1 - column) & 1 else DARK
            line += bytes([value]) * (SQUARE_PX * pixel_bytes)
        for y in range(row * SQUARE_PX, (row + 1) * SQUARE_PX):
            rows[y * stride : y * stride + len(line)] = line


def read(plane: Plane, scale: float, threshold: float) -> int | None:
    """Return the time that a picture shows, None where its check sum is wrong.

    Args:
        plane: grey values of the picture, the code in its top left.
        scale: of this picture to the painted one.
        threshold: what is above it is a one.
    """
    words = []
    for row in range(ROWS):
        word = 0
        for column in range(COLUMNS):
            y, x = (int((place + 0.5) * SQUARE_PX * scale) for place in (row, column))
            word = word << 1 | int(plane[y, x] > threshold)
        words.append(word)
    *parts, check = words
    return _joined(parts) if check == _check(parts) else None


def _words(time_ns: int) -> list[int]:
    parts = [time_ns >> shift & _WORD for shift in (48, 32, 16, 0)]
    return [*parts, _check(parts)]


def _check(parts: Sequence[int]) -> int:
    """Return a sum in which every word counts differently, and that no even grey gives."""
    return (sum((index + 1) * part for index, part in enumerate(parts)) + 0x5A5A) & _WORD


def _joined(parts: Sequence[int]) -> int:
    joined = 0
    for part in parts:
        joined = joined << COLUMNS | part
    return joined
