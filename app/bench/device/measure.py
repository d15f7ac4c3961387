"""All measurements on the GPU itself, one after another."""

from __future__ import annotations

from pathlib import Path

from app.bench.device import copies, decodes, frame, letterboxes
from app.bench.device.gpu import Gpu
from app.bench.device.sizes import Sizes
from app.bench.row import Row
from app.frame import PixelFormat
from app.gpu.compiler import Compile, nvrtc
from app.gpu.context import Context


def on_gpu(sizes: Sizes, folder: Path, compile_: Compile = nvrtc) -> tuple[dict[str, str], list[Row]]:
    """Measure.

    Args:
        sizes: of pictures and copies, and how often.
        folder: of compiled kernels.
        compile_: for kernels that are not there yet.

    Returns:
        What the figures belong to, and the rows.

    Raises:
        GpuError: the GPU refuses.
    """
    with Context() as context:
        gpu = Gpu(context, folder, compile_, sizes)
        speed, row = copies.gb_per_s(gpu, sizes.copy_bytes)
        width, height = sizes.picture_wh
        frame_bytes = width * height * 3
        rows = [row, *copies.link_rows(gpu, frame_bytes), *copies.source_rows(gpu, frame_bytes)]
        rows += letterboxes.rows(gpu, sizes.picture_wh, sizes.network_wh, speed)
        rows += decodes.rows(gpu, speed)
        rows += frame.rows(gpu, PixelFormat.BGR8, sizes.picture_wh, sizes.network_wh)
        rows += frame.rows(gpu, PixelFormat.NV12, (width // 4 * 2, height // 4 * 2), sizes.network_wh)
        return gpu.describe(), rows
