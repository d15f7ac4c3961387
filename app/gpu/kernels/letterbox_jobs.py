"""What the letterbox kernel is told about each sample: the same record as `LetterboxJob` in letterbox.cuh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.frame import PixelFormat
from app.letterbox import Letterbox

BLOCK = (32, 8, 1)
"""Threads of one block, for every entry point."""

NO_SAMPLE = -1
"""As `sample`: this job fills nothing."""

_ORDERS = ("rgb", "bgr", "grey")
_LAYOUTS = ("nchw", "nhwc")
_LINEAR, _AREA = range(2)
_PATTERNS = ("rggb", "grbg", "gbrg", "bggr")
_INTEGERS = (
    *("pitch", "chroma_pitch", "frame_w", "frame_h", "crop_x", "crop_y", "crop_w", "crop_h", "out_w", "out_h"),
    *("pad_left", "pad_top", "resized_w", "resized_h", "filter", "order", "layout", "pattern", "sample"),
)

JOB = np.dtype(
    [("frame", np.int64), ("chroma", np.int64)]
    + [(name, np.int32) for name in _INTEGERS]
    + [("pad", np.float32), ("scale", np.float32), ("unused", np.int32)]
)
"""104 bytes, as the kernel has it."""


@dataclass(frozen=True, slots=True)
class FrameMemory:
    """How a camera's frame lies in the memory that the kernel reads.

    Attributes:
        format: of its pixels.
        size_wh: of the whole frame in pixels.
        pitch: bytes from one row to the next.
        start: bytes from the launch's first argument to the first row.
        chroma: NV12: bytes from there to the first row of U and V.
        chroma_pitch: bytes from one of those rows to the next.
    """

    format: PixelFormat
    size_wh: tuple[int, int]
    pitch: int
    start: int = 0
    chroma: int = 0
    chroma_pitch: int = 0

    @classmethod
    def packed(cls, pixels: PixelFormat, size_wh: tuple[int, int], start: int = 0) -> FrameMemory:
        """Return the memory of a C-contiguous array as `PixelFormat` describes it."""
        shape = pixels.shape(size_wh)
        pitch = int(np.prod(shape[1:], dtype=np.int64)) * pixels.dtype.itemsize
        return cls(pixels, size_wh, pitch, start, start + size_wh[1] * pitch, pitch)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the network wants, as its `InputSpec` says: `nchw` or `nhwc`; `rgb`, `bgr` or `grey`."""

    layout: str
    colour: str
    scale: float
    pad_value: int


def entry_point(pixels: PixelFormat, dtype: str) -> str:
    """Return the name of the kernel for a camera's format and a network's `float32`, `float16` or `uint8`."""
    return f"letterbox_{f'bayer{pixels.bits}' if pixels.bayer else pixels.value}_{dtype}"


def grid(network_wh: tuple[int, int], jobs: int) -> tuple[int, int, int]:
    """Return how many blocks of `BLOCK` a launch has."""
    return -(-network_wh[0] // BLOCK[0]), -(-network_wh[1] // BLOCK[1]), jobs


def letterbox_job(
    memory: FrameMemory,
    wanted: Wanted,
    letterbox: Letterbox,
    *,
    sample: int = 0,
    area: bool = False,
    corner_xy: tuple[int, int] = (0, 0),
) -> NDArray[np.void]:
    """Return the record, shape (), that shows a frame or a region of it in one sample.

    Args:
        memory: where the frame lies.
        wanted: by the network.
        letterbox: as `fit` placed the frame, or the region: its `image_wh` is the size of what is shown.
        sample: which sample of the batch is filled.
        area: whether the picture shrinks by area; linear where not.
        corner_xy: the left upper pixel of the region.

    Raises:
        ValueError: the region does not lie inside the frame.
    """
    (left, top), (width, height), size_wh = corner_xy, letterbox.image_wh, memory.size_wh
    if not (0 <= left <= size_wh[0] - width and 0 <= top <= size_wh[1] - height):
        raise ValueError(f"region: {width} x {height} px at {corner_xy} do not lie in a frame of {size_wh}")
    job = np.zeros((), JOB)
    job["frame"], job["chroma"] = memory.start, memory.chroma
    job["pitch"], job["chroma_pitch"] = memory.pitch, memory.chroma_pitch
    job["frame_w"], job["frame_h"] = size_wh
    job["crop_x"], job["crop_y"], job["crop_w"], job["crop_h"] = left, top, width, height
    job["out_w"], job["out_h"] = letterbox.network_wh
    job["pad_left"], job["pad_top"] = letterbox.pad_left, letterbox.pad_top
    job["resized_w"], job["resized_h"] = letterbox.resized_wh
    job["filter"] = _AREA if area else _LINEAR
    job["order"], job["layout"] = _ORDERS.index(wanted.colour), _LAYOUTS.index(wanted.layout)
    job["pattern"] = _PATTERNS.index(memory.format.bayer or "rggb")
    job["pad"], job["scale"], job["sample"] = wanted.pad_value, wanted.scale, sample
    return job
