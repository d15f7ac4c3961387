"""What a picture's memory costs: blocks that are used again, against memory that is taken anew for each picture."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Thread
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from app.bench.ratio import Timing, measure
from app.bench.row import Row, ratio_row
from app.picture_memory import PictureMemory

PART = "a picture's memory, 1920 × 1080 BGR, three held"
SIZE_WH = (1920, 1080)
HELD = 3
"""Pictures that are on their way at a time: one waits, one is looked at, one is kept as evidence."""

Picture = NDArray[Any]


def rows(rounds: int) -> list[Row]:
    """Measure taking and filling, and what it costs to copy what a network camera's decoder has made."""
    shape, random = (SIZE_WH[1], SIZE_WH[0], 3), np.random.default_rng(1)
    memory, copying = PictureMemory(), PictureMemory(worth_a_copy=True)
    frame = av.VideoFrame(*SIZE_WH, "yuv420p")
    for plane in frame.planes:
        plane.update(random.integers(0, 256, plane.buffer_size, np.uint8).tobytes())

    def filled(picture: Picture) -> Picture:
        picture.fill(114)
        return picture

    def converted() -> Picture:
        return np.asarray(frame.to_ndarray(format="bgr24", threads=1), np.uint8)

    took = _in_a_thread(
        {"block": lambda: filled(memory.take(shape)), "empty": lambda: filled(np.empty(shape, np.uint8))}, rounds
    )
    got = _in_a_thread({"block": lambda: copying.keep(converted()), "ffmpeg": converted}, rounds)
    block, decoded = took["block"], got["block"]
    return [
        Row(PART, "a block, filled", block.median_ms, block.least_ms),
        ratio_row(PART, "`np.empty`, filled", took["empty"], block, None),
        Row(PART, "YUV 4:2:0 converted, copied to a block for a GPU", decoded.median_ms, decoded.least_ms),
        ratio_row(PART, "converted, left where FFmpeg put it", got["ffmpeg"], decoded, None),
    ]


def _in_a_thread(ways: dict[str, Callable[[], Picture]], rounds: int) -> dict[str, Timing]:
    """Measure as a camera's thread would fare: the C library gives a thread other memory than the main one."""
    found: dict[str, Timing] = {}
    thread = Thread(target=lambda: found.update(measure(_holding(ways), rounds=rounds)), name="read-bench")
    thread.start()
    thread.join()
    return found


def _holding(ways: dict[str, Callable[[], Picture]]) -> dict[str, Callable[[], None]]:
    """Let each way hold its last pictures, as the line does."""

    def held(way: Callable[[], Picture]) -> Callable[[], None]:
        kept: deque[Picture] = deque(maxlen=HELD)
        return lambda: kept.append(way())

    return {name: held(way) for name, way in ways.items()}
