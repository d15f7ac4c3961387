"""One whole frame on the GPU: its parts, all of them in one graph, and the same started one by one.

No engine can be brought to every GPU, so a copy of a network's output into its place stands for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.bench.decode import output
from app.bench.device.decodes import CLASSES, MIN_SCORE, WH, Decoding
from app.bench.device.gpu import Gpu
from app.bench.device.letterboxes import PLANAR_RGB
from app.bench.ratio import measure
from app.bench.row import Row
from app.decode.boxes import Plane
from app.decode.yolov8 import YoloV8
from app.frame import PixelFormat
from app.gpu.kernels.decode_jobs import RESULT
from app.gpu.kernels.letterbox_jobs import BLOCK, JOB, FrameMemory, entry_point, grid, letterbox_job
from app.gpu.memory import to_device, to_host
from app.letterbox import fit
from app.preprocess.resample import Filter, choose

PART = "a frame"
AT_MOST = 1.05
CANDIDATES, OBJECTS = 300, 30


class Frame:
    """Copy in, letterbox, the engine's stand-in, decode, copy out.

    Args:
        gpu: where.
        pixels, size_wh: the camera's.
        network_wh: the network's input.
    """

    def __init__(self, gpu: Gpu, pixels: PixelFormat, size_wh: tuple[int, int], network_wh: tuple[int, int]) -> None:
        nbytes = math.prod(pixels.shape(size_wh)) * pixels.dtype.itemsize
        letterbox = fit(size_wh, network_wh)
        area = choose(letterbox, "auto") is Filter.AREA
        job = letterbox_job(FrameMemory.packed(pixels, size_wh), PLANAR_RGB, letterbox, area=area)
        self.head = YoloV8("o", CLASSES, Plane(WH))
        self.output = output(8400, CANDIDATES, OBJECTS)
        self.captured, self.found = gpu.pinned(nbytes), gpu.pinned(RESULT.itemsize)
        self.input_bytes = gpu.pinned(3 * math.prod(network_wh) * 4)
        self._gpu, self._network_wh = gpu, network_wh
        self._picture, self._jobs = gpu.memory(nbytes), gpu.holding(np.array([job], JOB))
        self._input = gpu.memory(self.input_bytes.nbytes)
        self._kernel = gpu.kernel(entry_point(pixels, "float32"))
        self._given, self.decoding = gpu.holding(self.output), Decoding(gpu, self.head, self.output)

    @property
    def parts(self) -> dict[str, Callable[[int], None]]:
        """Each part by itself."""
        gpu = self._gpu
        return {
            "copy in": lambda _: to_device(self.captured.bytes, self._picture.address, gpu.stream),
            "letterbox": self._letterbox,
            "stand-in for the engine": lambda _: gpu.copy(
                self.decoding.outputs.address, self._given.address, self.output.nbytes
            ),
            "decode": self.decoding.record,
            "copy out": lambda _: to_host(self.found.bytes, self.decoding.results.address, gpu.stream),
        }

    def record(self, index: int) -> None:
        """Put the whole frame into the stream."""
        for part in self.parts.values():
            part(index)

    def eager(self) -> None:
        """Start part by part, and wait."""
        self.record(0)
        self._gpu.stream.synchronize()

    def result(self) -> NDArray[Any]:
        """Return what came back, and the network's input, as bytes."""
        to_host(self.input_bytes.bytes, self._input.address, self._gpu.stream)
        self._gpu.stream.synchronize()
        found = np.sort(self.found.bytes.view(RESULT)["candidates"][0], order="row")
        return np.concatenate([found.view(np.uint8).ravel(), self.input_bytes.bytes])

    def is_as_on_the_host(self) -> bool:
        """Whether the candidates are those that the head finds in the same output."""
        found = self.decoding.part.candidates(self.found.bytes.view(RESULT)[0], self.decoding.token)
        expected = self.head.candidates({"o": self.output}, MIN_SCORE)
        return found is not None and np.array_equal(found.xyxy, expected.xyxy)

    def _letterbox(self, _: int) -> None:
        gpu, blocks = self._gpu, grid(self._network_wh, 1)
        gpu.launch(self._kernel, blocks, BLOCK, self._picture.address, self._input.address, self._jobs.address)


def rows(gpu: Gpu, pixels: PixelFormat, size_wh: tuple[int, int], network_wh: tuple[int, int]) -> Iterable[Row]:
    """Measure the parts, the whole by the GPU's clock, and graph against eager by the host's."""
    frame, part_of = Frame(gpu, pixels, size_wh, network_wh), f"{PART}, {pixels.value} {size_wh[0]} × {size_wh[1]}"
    total_ms = 0.0
    for name, record in frame.parts.items():
        timing = gpu.time(record, gpu.burst)
        total_ms += timing.median_ms
        yield Row(part_of, name, timing.median_ms, timing.least_ms)
    whole = gpu.time(frame.record, gpu.burst)
    ratio = whole.median_ms / total_ms
    got, is_met = f"{ratio:.3f} × the parts", ratio <= AT_MOST
    yield Row(part_of, "all in one graph", whole.median_ms, whole.least_ms, got, f"≤ {AT_MOST:g} ×", is_met)
    yield from _graph_rows(gpu, frame, part_of)


def _graph_rows(gpu: Gpu, frame: Frame, part_of: str) -> Iterable[Row]:
    graph, is_same = gpu.graph(frame.record), True
    for seed in (1, 2):
        frame.captured.bytes[:] = np.random.default_rng(seed).integers(0, 256, frame.captured.nbytes, np.uint8)
        frame.eager()
        expected = frame.result()
        frame.found.bytes[:] = 0
        graph.launch(gpu.stream)
        gpu.stream.synchronize()
        is_same &= np.array_equal(frame.result(), expected)
    yield Row(part_of, "a replay equals eager, two pictures", got=str(is_same).lower(), target="true", met=is_same)
    is_same = frame.is_as_on_the_host()
    yield Row(part_of, "candidates equal the head's", got=str(is_same).lower(), target="true", met=is_same)

    def replay() -> None:
        graph.launch(gpu.stream)
        gpu.stream.synchronize()

    timings = measure({"eager": frame.eager, "graph": replay}, rounds=gpu.rounds)
    eager, replayed = timings["eager"], timings["graph"]
    yield Row(part_of, "eager, started and waited for", eager.median_ms, eager.least_ms)
    gain = f"{eager.median_ms / replayed.median_ms:.2f} × as fast"
    yield Row(part_of, "the graph, started and waited for", replayed.median_ms, replayed.least_ms, gain)
    graph.close()
