"""How much is measured on the GPU."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes and numbers of all measurements.

    Attributes:
        picture_wh, network_wh: of the letterbox and the whole frame, in pixels.
        copy_bytes: of the copy that the memory's speed is taken from.
        burst: pieces of work in a graph that is timed.
        rounds: how often each is timed.
    """

    picture_wh: tuple[int, int]
    network_wh: tuple[int, int]
    copy_bytes: int
    burst: int
    rounds: int


FULL = Sizes((3840, 2160), (640, 640), 256 << 20, 16, 50)
QUICK = Sizes((384, 216), (64, 64), 1 << 20, 2, 2)
