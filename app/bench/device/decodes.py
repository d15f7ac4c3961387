"""The decode kernels for the usual outputs, against the bytes that they must read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.bench.decode import output
from app.bench.device.floor import floor_row
from app.bench.device.gpu import Gpu
from app.bench.row import Row
from app.decode.anchors import cell_count
from app.decode.base import Head
from app.decode.boxes import Plane
from app.decode.device_heads import device_head
from app.decode.end_to_end import EndToEnd
from app.decode.yolov5 import YoloV5
from app.decode.yolov8 import YoloV8
from app.decode.yolox import YoloX
from app.gpu.kernels.decode_jobs import BLOCK, JOB, RESET, RESULT, entry_point, grid

PART = "decode"
WH = (640, 640)
CLASSES = 80
MIN_SCORE = 0.25

Outputs = Mapping[str, NDArray[Any]]


def cases() -> dict[str, tuple[Head, NDArray[np.float32]]]:
    """Return heads of a 640 × 640 network with what it may give: few of the rows are candidates."""
    plane, random = Plane(WH), np.random.default_rng(1)

    def in_rows(rows: int, box: float) -> NDArray[np.float32]:
        data = random.uniform(0, 0.2, (1, rows, 5 + CLASSES)).astype(np.float32)
        data[..., :4] = random.uniform(0, box, (1, rows, 4))
        data[:, ::100, 4:6] = 0.9
        return data

    finished = np.zeros((1, 300, 6), np.float32)
    finished[:, :30] = (100, 100, 200, 200, 0.9, 7)
    cells = cell_count(WH)
    return {
        f"yolov8 (1, 84, {cells})": (YoloV8("o", CLASSES, plane), output(cells, 300, 30)),
        "yolov5 (1, 25200, 85)": (YoloV5("o", CLASSES, plane), in_rows(25_200, 600)),
        f"yolox (1, {cells}, 85)": (YoloX("o", CLASSES, WH), in_rows(cells, 1.0)),
        "end to end (1, 300, 6)": (EndToEnd("o", plane, 300), finished),
    }


class Decoding:
    """One head's kernels with memory for their results.

    Args:
        gpu: where.
        head: of the network.
        data: its output; its type is the kernels'.
    """

    def __init__(self, gpu: Gpu, head: Head, data: NDArray[Any]) -> None:
        found = device_head(head, {"o": data.shape})
        assert found is not None, "the bench's own heads have kernels"
        self.part = found
        self.token = 1
        self.outputs = gpu.holding(data)
        self.results = gpu.memory(RESULT.itemsize)
        self.jobs = gpu.holding(np.array([found.job(0, MIN_SCORE, self.token)], JOB))
        self._gpu = gpu
        self._reset, self._decode = gpu.kernel(RESET), gpu.kernel(entry_point(found.kind, data.dtype.name))

    def record(self, _: int) -> None:
        """Start both kernels."""
        results, jobs, outputs = self.results.address, self.jobs.address, self.outputs.address
        self._gpu.launch(self._reset, (1, 1, 1), (1, 1, 1), results, jobs)
        self._gpu.launch(self._decode, grid(self.part.rows, 1), BLOCK, outputs, outputs, results, jobs)

    def close(self) -> None:
        """Give the memory back."""
        for memory in (self.outputs, self.results, self.jobs):
            memory.close()


def rows(gpu: Gpu, gb_per_s: float) -> Iterable[Row]:
    """Measure every family; the output lies where the engine has just written it, which may be a cache."""
    for name, (head, data) in cases().items():
        for dtype in ("float32", "float16"):
            decoding = Decoding(gpu, head, data.astype(dtype))
            timing = gpu.time(decoding.record, gpu.burst)
            decoding.close()
            nbytes = data.size * np.dtype(dtype).itemsize
            yield floor_row(PART, f"{name} {dtype}, reset and decode", timing, nbytes, gb_per_s, None)
