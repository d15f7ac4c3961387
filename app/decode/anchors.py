"""The cells of a network's grids: how many there are, and where each one lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STRIDES = (8, 16, 32)

STRIDE_SETS = (STRIDES, (8, 16, 32, 64), (4, 8, 16, 32), (16, 32))
"""The grids that networks have: the usual three, with a coarser or a finer one, and tiny networks' two."""


def cell_count(input_wh: tuple[int, int], strides: Sequence[int] = STRIDES) -> int:
    """Return how many cells all grids have together; a side that a stride does not divide rounds up."""
    return sum(-(-input_wh[0] // stride) * -(-input_wh[1] // stride) for stride in strides)


def cell_counts(input_wh: tuple[int, int]) -> frozenset[int]:
    """Return the numbers of cells that networks with this input may have."""
    return frozenset(cell_count(input_wh, strides) for strides in STRIDE_SETS)


def may_be_cell_count(number: int) -> bool:
    """Return whether there is any input with sides that are multiples of 32 (or 64) with so many cells.

    One such square has 16 + 4 + 1 cells of the usual three strides, or 64 + 16 + 4 + 1 with a fourth.
    """
    return number % 21 == 0 or number % 85 == 0


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Where some cells lie.

    Attributes:
        corners: float32 (n, 2), column and row in its grid.
        strides: float32 (n, 1), pixels of the input per cell.
    """

    corners: NDArray[np.float32]
    strides: NDArray[np.float32]


def locate(rows: NDArray[np.intp], input_wh: tuple[int, int]) -> Cells:
    """Return where cells lie that are numbered grid by grid, finest first, each row by row.

    Args:
        rows: (n,) from 0 to `cell_count(input_wh)` - 1.
        input_wh: the network's input in pixels.
    """
    columns = np.array([-(-input_wh[0] // stride) for stride in STRIDES])
    ends = np.cumsum([cell_count(input_wh, [stride]) for stride in STRIDES])
    grid = np.searchsorted(ends, rows, side="right")
    inside = rows - np.concatenate([[0], ends])[grid]
    corners = np.stack([inside % columns[grid], inside // columns[grid]], axis=1).astype(np.float32)
    return Cells(corners, np.array(STRIDES, np.float32)[grid, None])
