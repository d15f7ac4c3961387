"""A piece of work as small as it can be: copy in, scale on the GPU, copy out."""

import numpy as np

from app.gpu.context import Context
from app.gpu.event import Event
from app.gpu.graph import Graph
from app.gpu.memory import DeviceMemory, PinnedMemory, RegisteredMemory, to_device, to_host
from app.gpu.module import Module
from app.gpu.stream import Stream
from app.picture_memory import PictureMemory, block_of
from tests.gpu.fake_driver import HERE

TINY = (HERE / "tiny.ptx").read_bytes() + b"\0"
"""For a real driver the kernel, for the one on host memory something that begins as a kernel does."""


class Work:
    """Copy in, scale on the GPU, copy out: what a frame does, as small as it can be."""

    def __init__(self, context) -> None:
        self.stream = Stream(context)
        self.source, self.result = PinnedMemory(context, 32), PinnedMemory(context, 32)
        self.on_device, self.out = DeviceMemory(context, 32), DeviceMemory(context, 32)
        self.shift = DeviceMemory(context, 4)
        self.module = Module(context, TINY, "tiny")
        self.kernel = self.module.kernel("scale")
        self.began, self.ended = Event(context), Event(context)
        self.shift.fill(0, self.stream)
        self.source.bytes.view(np.float32)[:] = np.arange(8)

    def record(self) -> None:
        self.began.record(self.stream)
        to_device(self.source.bytes, self.on_device.address, self.stream)
        arguments = [
            np.uint64(self.on_device.address),
            np.uint64(self.out.address),
            np.int32(8),
            np.float32(2.0),
            np.uint64(self.shift.address),
        ]
        self.kernel.launch((1, 1, 1), (8, 1, 1), self.stream, arguments)
        to_host(self.result.bytes, self.out.address, self.stream)
        self.ended.record(self.stream)

    def eager(self) -> np.ndarray:
        self.record()
        self.stream.synchronize()
        return self.result.bytes.view(np.float32).copy()

    def replayed(self, graph) -> np.ndarray:
        self.result.bytes[:] = 0xFF
        graph.launch(self.stream)
        self.stream.synchronize()
        return self.result.bytes.view(np.float32).copy()


def graph_of(context, work: Work, **options):
    return Graph(context, work.stream, work.record, **options)


def whole_life() -> np.ndarray:
    """Everything that the objects can do, once; returns what the last replay gave."""
    picture = PictureMemory().take((8,), np.float32)
    block = block_of(picture)
    assert block is not None
    with Context() as context:
        RegisteredMemory(context, block)  # before what reads it, so that it is closed after that
        work = Work(context)
        work.eager()
        graph = graph_of(context, work)
        upload = graph.upload_to(work.on_device.address, 32)
        upload.read_from(block.address)
        picture[:] = 21
        work.replayed(graph)
        upload.turn(on=False)
        picture[:] = 0  # which the graph does not fetch
        result = work.replayed(graph)
        work.ended.ms_since(work.began)
        graph.close()
        work.stream.close()
    return result
