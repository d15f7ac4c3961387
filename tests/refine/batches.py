"""What parts of one picture cost in one batch and one by one."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import numpy as np
from rich.table import Table

from app.frame import crop
from app.refine.region import grid
from tests.refine.covers_line import parts
from tests.refine.network import LEAST, Network

ROUNDS = 20
MOST = 8


def parts_of_one_picture() -> list[np.ndarray]:
    """Eight tiles of 480 × 360 of a sample part."""
    image = parts()[0][1]
    size_wh = (image.shape[1], image.shape[0])
    tiles = [crop(image, region) for region in grid(size_wh, (480, 360), 0.3)]
    return tiles[:MOST]


def batches_table(alone: Network, batched: Network, views: Sequence[np.ndarray]) -> Table:
    """Time both ways in turns, and compare the processor's time: the median round's."""
    table = Table(
        "parts",
        "one by one, CPU ms",
        "one batch, CPU ms",
        "batch / one by one",
        title="Parts of one picture, 640 × 480",
    )
    for count in (1, 2, 4, MOST):
        spent = [(_ms(alone, views[:count]), _ms(batched, views[:count])) for _ in range(ROUNDS)]
        singly, together = (statistics.median(one) for one in zip(*spent, strict=True))
        ratio = statistics.median(b / a for a, b in spent)
        table.add_row(str(count), f"{singly:.1f}", f"{together:.1f}", f"{ratio:.2f}")
    return table


def _ms(network: Network, views: Sequence[np.ndarray]) -> float:
    begin = time.thread_time_ns()
    network.look_at_all(views, LEAST)
    return (time.thread_time_ns() - begin) / 1e6
