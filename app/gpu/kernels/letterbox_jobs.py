"""What the letterbox kernel is told about each sample: the same record as `LetterboxJob` in letterbox.cuh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.letterbox import Letterbox

Format: TypeAlias = Literal["bgr8", "gray8", "nv12", "yuyv", "bayer8", "bayer16"]
Dtype: TypeAlias = Literal["float32", "float16", "uint8"]
Region: TypeAlias = tuple[int, int, int, int]

BLOCK = (32, 8, 1)
"""Threads of one block, for every entry point."""

ORDERS = ("rgb", "bgr", "grey")
LAYOUTS = ("nchw", "nhwc")
FILTERS = ("linear", "area")
PATTERNS = ("rggb", "grbg", "gbrg", "bggr")
"""Bayer patterns: the colours of the first row's first two pixels, then of the second row's."""

NO_JOB = -1
"""As `sample`: this job fills nothing."""

JOB = np.dtype(
    [("frame", np.int64), ("chroma", np.int64)]
    + [(name, np.int32) for name in ("pitch", "chroma_pitch", "frame_w", "frame_h")]
    + [(name, np.int32) for name in ("crop_x", "crop_y", "crop_w", "crop_h", "out_w", "out_h")]
    + [(name, np.int32) for name in ("pad_left", "pad_top", "resized_w", "resized_h")]
    + [(name, np.int32) for name in ("filter", "order", "layout", "pattern", "sample")]
    + [(name, np.float32) for name in ("narrow", "pad", "scale")]
)
"""104 bytes, as the kernel has it."""


@dataclass(frozen=True, slots=True)
class Camera:
    """How a camera's frames lie in the memory that the kernel reads.

    Attributes:
        width, height: of the whole frame in pixels.
        pitch: bytes from one row to the next.
        frame: bytes from the launch's first argument to the first row.
        chroma: NV12: bytes from there to the first row of U and V.
        chroma_pitch: bytes from one row of them to the next.
        pattern: of Bayer pixels, one of `PATTERNS`.
        bits: how many bits of a 16-bit pixel are in use.
    """

    width: int
    height: int
    pitch: int
    frame: int = 0
    chroma: int = 0
    chroma_pitch: int = 0
    pattern: str = "rggb"
    bits: int = 8


@dataclass(frozen=True, slots=True)
class Target:
    """What the network wants: the fields of its `InputSpec` that the kernel has to know."""

    layout: str
    colour: str
    scale: float
    pad_value: int


def entry_point(camera_format: Format, dtype: Dtype) -> str:
    """Return the name of the kernel for a camera's format and a network's type."""
    return f"letterbox_{camera_format}_{dtype}"


def grid(network_wh: tuple[int, int], jobs: int) -> tuple[int, int, int]:
    """Return how many blocks of `BLOCK` a launch has."""
    return -(-network_wh[0] // BLOCK[0]), -(-network_wh[1] // BLOCK[1]), jobs


def letterbox_job(
    camera: Camera,
    target: Target,
    letterbox: Letterbox,
    *,
    sample: int = 0,
    area: bool = False,
    corner_xy: tuple[int, int] = (0, 0),
) -> NDArray[np.void]:
    """Return the record, shape (), that shows a frame or a region of it in one sample.

    Args:
        camera: where the frame lies.
        target: what the network wants.
        letterbox: as `fit` placed the frame, or the region: its `image_wh` is the size of what is shown.
        sample: which sample of the batch is filled.
        area: whether the picture shrinks by area; linear where not.
        corner_xy: the left upper pixel of the region.

    Raises:
        ValueError: the region does not lie inside the frame.
    """
    left, top = corner_xy
    width, height = letterbox.image_wh
    if not (0 <= left <= camera.width - width and 0 <= top <= camera.height - height):
        raise ValueError(
            f"region: {width} x {height} px at ({left}, {top}) do not lie in a frame of {camera.width} x {camera.height}"
        )
    job = np.zeros((), JOB)
    job["frame"], job["chroma"] = camera.frame, camera.chroma
    job["pitch"], job["chroma_pitch"] = camera.pitch, camera.chroma_pitch
    job["frame_w"], job["frame_h"] = camera.width, camera.height
    job["crop_x"], job["crop_y"], job["crop_w"], job["crop_h"] = left, top, width, height
    job["out_w"], job["out_h"] = letterbox.network_wh
    job["pad_left"], job["pad_top"] = letterbox.pad_left, letterbox.pad_top
    job["resized_w"], job["resized_h"] = letterbox.resized_wh
    job["filter"] = FILTERS.index("area" if area else "linear")
    job["order"], job["layout"] = ORDERS.index(target.colour), LAYOUTS.index(target.layout)
    job["pattern"], job["sample"] = PATTERNS.index(camera.pattern), sample
    job["narrow"] = 255 / ((1 << camera.bits) - 1)
    job["pad"], job["scale"] = target.pad_value, target.scale
    return job
