"""Writes a PNG strip by strip, so that whoever writes it can give way to a frame in between.

One call of a library that encodes a whole picture takes a core for 10 to 20 ms. On a machine whose cores are all the
engine's, a thread that is in such a call goes on until the next tick of the system's clock, whatever its priority: up
to 4 ms that the engine waits (docs/performance.md).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

STRIP_BYTES = 48 << 10
"""Of pixels between two pauses: half a millisecond of work."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_UP = 2
"""The filter: every byte is predicted by the one above it. See the PNG specification, section 9.2."""
_COLOR_TYPES = {1: 0, 3: 2}
"""By channels: grey, and RGB; section 11.2.1."""


Pause: TypeAlias = Callable[[], None]
"""Gives way to whoever is more urgent; returns when there is nobody, or when it has waited long enough."""


def no_pause() -> None:
    """Where nobody is more urgent."""


def png(image: NDArray[np.uint8], pause: Pause = no_pause) -> memoryview:
    """Return an image as a PNG, fast and without loss: runs are all that is looked for.

    Args:
        image: (H, W) or (H, W, 3) BGR, not empty; only read.
        pause: called before each strip, on the calling thread.
    """
    pixels = np.atleast_3d(image)
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOR_TYPES[channels], 0, 0, 0)
    packer = zlib.compressobj(level=1, strategy=zlib.Z_RLE)
    packed = []
    for strip in _filtered(pixels):
        pause()
        packed.append(packer.compress(strip.data))
    packed.append(packer.flush())
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", b"".join(packed)), _chunk(b"IEND", b""))
    return memoryview(b"".join((_SIGNATURE, *chunks)))


def _filtered(pixels: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
    """Yield strips of rows as a PNG has them before they are packed: a filter's number, then RGB less the row above."""
    height, width, channels = pixels.shape
    rows = max(1, STRIP_BYTES // (width * channels))
    strip = np.full((rows, 1 + width * channels), _UP, np.uint8)
    above = np.zeros((1, width * channels), np.uint8)
    for top in range(0, height, rows):
        here = pixels[top : top + rows]
        rgb = (here if channels == 1 else cv2.cvtColor(here, cv2.COLOR_BGR2RGB)).reshape(len(here), -1)
        np.subtract(rgb[:1], above, out=strip[:1, 1:])
        np.subtract(rgb[1:], rgb[:-1], out=strip[1 : len(rgb), 1:])
        above = rgb[-1:]
        yield strip[: len(rgb)]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))
