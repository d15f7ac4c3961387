"""The letterbox kernel in every format, against the bytes that it must move."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from app.bench.device.floor import floor_row, picture_bytes
from app.bench.device.gpu import Gpu
from app.bench.row import Row
from app.frame import PixelFormat
from app.gpu.kernels.letterbox_jobs import BLOCK, JOB, FrameMemory, Wanted, entry_point, grid, letterbox_job
from app.letterbox import fit
from app.preprocess.resample import Filter

PART = "letterbox"
AT_MOST = 2.0
MOST_FRAMES = 64
"""That take turns, so that none is in a cache from its last turn."""

REGIONS = 8
FORMATS = (
    PixelFormat.BGR8,
    PixelFormat.GRAY8,
    PixelFormat.NV12,
    PixelFormat.YUYV,
    PixelFormat.BAYER_RGGB8,
    PixelFormat.BAYER_RGGB12,
)
PLANAR_RGB = Wanted("nchw", "rgb", 1 / 255, 114)
_BYTES = {"float32": 4, "float16": 2, "uint8": 1}


def rows(gpu: Gpu, size_wh: tuple[int, int], network_wh: tuple[int, int], gb_per_s: float) -> Iterable[Row]:
    """Measure whole frames in every format, both filters, and regions in one launch."""
    for pixels in FORMATS:
        for kind in Filter:
            yield _whole_frame(gpu, pixels, kind, size_wh, network_wh, "float32", gb_per_s)
    yield _whole_frame(gpu, PixelFormat.NV12, Filter.AREA, size_wh, network_wh, "float16", gb_per_s)
    yield _regions(gpu, PixelFormat.BGR8, size_wh, network_wh, gb_per_s)


def _whole_frame(
    gpu: Gpu,
    pixels: PixelFormat,
    kind: Filter,
    size_wh: tuple[int, int],
    network_wh: tuple[int, int],
    dtype: str,
    gb_per_s: float,
) -> Row:
    letterbox = fit(size_wh, network_wh)
    frame_bytes = math.prod(pixels.shape(size_wh)) * pixels.dtype.itemsize
    count = max(gpu.burst, min(MOST_FRAMES, gpu.ring_bytes // frame_bytes))
    frames = gpu.memory(count * frame_bytes)
    memories = [FrameMemory.packed(pixels, size_wh, index * frame_bytes) for index in range(count)]
    area = kind is Filter.AREA
    jobs = gpu.holding(np.array([letterbox_job(memory, PLANAR_RGB, letterbox, area=area) for memory in memories], JOB))
    out_bytes = 3 * math.prod(network_wh) * _BYTES[dtype]
    out, kernel = gpu.memory(out_bytes), gpu.kernel(entry_point(pixels, dtype))

    def record(index: int) -> None:
        job = jobs.address + index * JOB.itemsize
        gpu.launch(kernel, grid(network_wh, 1), BLOCK, frames.address, out.address, job)

    timing = gpu.time(record, count)
    for memory in (frames, jobs, out):
        memory.close()
    what = f"{pixels.value} {size_wh[0]} × {size_wh[1]} → {network_wh[0]} {dtype}, {kind.value}"
    return floor_row(PART, what, timing, picture_bytes(pixels, letterbox, kind) + out_bytes, gb_per_s, AT_MOST)


def _regions(
    gpu: Gpu, pixels: PixelFormat, size_wh: tuple[int, int], network_wh: tuple[int, int], gb_per_s: float
) -> Row:
    """Regions of the network's own size out of one frame that is there already, as the second look takes them."""
    region_wh = min(network_wh[0], size_wh[0]), min(network_wh[1], size_wh[1])
    letterbox = fit(region_wh, network_wh)
    frames = gpu.memory(math.prod(pixels.shape(size_wh)) * pixels.dtype.itemsize)
    corners = np.linspace((0, 0), (size_wh[0] - region_wh[0], size_wh[1] - region_wh[1]), REGIONS, dtype=int)
    memory = FrameMemory.packed(pixels, size_wh)
    made = [
        letterbox_job(memory, PLANAR_RGB, letterbox, sample=sample, corner_xy=(int(x), int(y)))
        for sample, (x, y) in enumerate(corners)
    ]
    jobs = gpu.holding(np.array(made, JOB))
    out_bytes = REGIONS * 3 * math.prod(network_wh) * 4
    out, kernel = gpu.memory(out_bytes), gpu.kernel(entry_point(pixels, "float32"))

    def record(_: int) -> None:
        gpu.launch(kernel, grid(network_wh, REGIONS), BLOCK, frames.address, out.address, jobs.address)

    timing = gpu.time(record, gpu.burst)
    for held in (frames, jobs, out):
        held.close()
    read = REGIONS * picture_bytes(pixels, letterbox, Filter.LINEAR)
    what = f"{REGIONS} regions of {region_wh[0]} × {region_wh[1]} in one launch, {pixels.value} → float32"
    return floor_row(PART, what, timing, read + out_bytes, gb_per_s, None)
