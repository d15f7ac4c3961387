"""One lane: memory, an execution of the network and a stream of its own, for frames of one format."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from time import monotonic_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.decode.base import Candidates, Head
from app.decode.device_heads import device_head
from app.decode.on_device import DeviceHead
from app.engine import Found, Look
from app.errors import BadOutput, GpuError
from app.frame import PixelFormat
from app.fused.buffers import Buffers
from app.fused.clock import GpuClock, on_host
from app.fused.core import Core
from app.fused.frames import Frames
from app.fused.picture import Part
from app.gpu.graph import Graph, capturing
from app.gpu.kernels import decode_jobs, letterbox_jobs
from app.gpu.kernels.letterbox_jobs import NO_SAMPLE, FrameMemory, Wanted, letterbox_job
from app.gpu.stream import Stream
from app.inference.shapes import known_shape
from app.letterbox import Letterbox, fit
from app.model import TensorSpec
from app.preprocess.resample import Filter, choose

log = logging.getLogger(__name__)

WARM_UPS = 2  # the first sets up what is set up lazily, the second runs as all later ones do
LEAST_NODES = 5  # letterbox, one piece of the network at least, decoding or copies, and the times
TOKENS = 1 << 32


@dataclass(frozen=True, slots=True)
class Pending:
    """What a lane was asked and has not answered yet."""

    looks: Sequence[Look]
    letterboxes: Sequence[Letterbox]
    began_ns: int
    token: int


class Lane:
    """Looks at frames of one format, as many as there are places, or at parts of one; a graph does it in one launch.

    Attributes:
        graph: None: every call is made by itself.
        frames: where those that are looked at lie.
        gpu_ms: what the GPU's steps took for the last frame.
    """

    def __init__(
        self, core: Core, pixels: PixelFormat, capacity: int, batch: int, tell: Callable[[str], None] = log.warning
    ) -> None:
        """Take everything; nothing runs yet.

        Args:
            core: entered.
            pixels: the format of the frames.
            capacity: bytes of all frames that go up at a time.
            batch: places in the network's input.
            tell: takes a line when the graph is given up.

        Raises:
            ModelError: the engine doesn't take such a batch, or there is no memory.
        """
        network = core.network
        self._core = core
        self._batch = batch
        self._tell = tell
        self.graph: Graph | None = None
        self._trusted: set[bool] = set()
        self.gpu_ms: dict[str, float] = {}
        self._pending: Pending | None = None
        self._places = 0
        self._token = 0
        with ExitStack() as stack:
            self._stream = Stream(core.context)
            stack.callback(self._stream.close)
            shape = (batch, *network.spec.sample_shape)
            self._execution = core.engine.execution(self._stream, {network.spec.name: shape})
            stack.callback(self._execution.close)
            inputs, outputs = self._execution.inputs, self._execution.outputs
            self.buffers = Buffers(core.context, inputs, outputs, batch, capacity)
            stack.callback(self.buffers.close)
            self.frames = Frames(self.buffers, core.blocks, core.skipping)
            self._execution.bind(self.buffers.addresses())
            self._clock = GpuClock(core.context)
            for event in self._clock.events:
                stack.callback(event.close)
            self._head = _device_head(network.head, outputs)
            entry = letterbox_jobs.entry_point(pixels, network.spec.dtype)
            self._letterbox = core.kernel("letterbox", entry)
            if self._head is not None:
                self._reset = core.kernel("decode", decode_jobs.RESET)
                dtypes = {spec.name: spec.dtype for spec in outputs}
                kind = decode_jobs.entry_point(self._head.kind, dtypes[self._head.boxes])
                self._decode = core.kernel("decode", kind)
            self._stack = stack.pop_all()

    def close(self) -> None:
        """Give everything back, the graph first, once nothing is under way any more; safe to call twice."""
        with ExitStack() as stack:
            stack.callback(self._stack.close)
            stack.callback(self.frames.release)
            stack.callback(self.drop_graph)
            if self._pending is not None:  # an error left it
                self._pending = None
                self._stream.synchronize()

    # ── one frame ────────────────────────────────────────────────────────────────────────────────────────────────────

    def start(
        self, looks: Sequence[Look], parts: Sequence[Part], *, again: bool = False, there: int | None = None
    ) -> None:
        """Begin to look, at as many as there are places at most; returns before it is done.

        Args:
            looks: for each place.
            parts: what each of them looks at, of frames of one size.
            again: they are of the frames that were brought up here last, so those need not be copied again.
            there: where on the GPU the one frame of all parts lies already, and stays until this is finished.
        """
        self.wait()  # the GPU may still read what is written below
        began_ns = monotonic_ns()
        letterboxes = self._write_jobs(looks, parts, self.frames.place(parts, copy=not again, there=there))
        self._pending = Pending(looks, letterboxes, began_ns, self._token)
        self.run()

    def wait(self) -> None:
        """Wait for what an error has left under way."""
        if self._pending is not None:
            self._stream.synchronize()
            self._pending = None

    @property
    def trusted(self) -> bool:
        """Whether the graph was found to give what the calls give, for frames that are where these are: it is used."""
        return self.frames.are_there in self._trusted

    def trust(self, are_there: bool) -> None:
        """Use the graph for frames that go up from now on, or for those that are there already."""
        self._trusted.add(are_there)

    def doubt(self) -> None:
        """Use the graph no more until it was tried again."""
        self._trusted.clear()

    def run(self) -> None:
        """Have the GPU do what the memory says, by the graph where there is one that can be trusted."""
        if self.graph is not None and self.trusted:
            try:
                self._launch(self.graph)
            except GpuError as error:
                self.give_up(str(error))
            else:
                return
        self.record()

    def finish(self) -> list[Found]:
        """Wait for what was started, and return what is in each part; the frames are held until they are released.

        Raises:
            GpuError: it failed, or what came back is another frame's.
        """
        pending = self._pending
        assert pending is not None, "started"
        self._stream.synchronize()
        self._pending = None
        synced_ns = monotonic_ns()
        self.gpu_ms = self._clock.ms()
        engine_began_ns, engine_ended_ns = on_host(self.gpu_ms, pending.began_ns, synced_ns)
        if not self._is_answered(pending) and self.graph is not None:
            self.give_up("it left an earlier frame's results")
            self.record()
            self._stream.synchronize()
        if not self._is_answered(pending):
            where = self._core.network.where
            raise GpuError(f"{where}: the GPU gave another frame's results: it did not run this one")
        self.frames.arrived()
        found = []
        for place, look in enumerate(pending.looks):
            look.trace.add("preprocess", pending.began_ns, engine_began_ns)
            look.trace.add("inference", engine_began_ns, engine_ended_ns)
            found.append(self._found(place, look, pending))
            look.trace.add("decode", engine_ended_ns, monotonic_ns())
        return found

    def _write_jobs(self, looks: Sequence[Look], parts: Sequence[Part], starts: Sequence[int]) -> list[Letterbox]:
        """Tell the kernels what to do for each place of the batch."""
        spec = self._core.network.spec
        self._token = (self._token + 1) % TOKENS
        self._places = len(looks)
        letterboxes = []
        self.buffers.letterbox_jobs["sample"] = NO_SAMPLE
        self.buffers.decode_jobs["sample"] = decode_jobs.NO_SAMPLE
        wanted = Wanted(spec.layout, spec.colour, spec.scale, spec.pad_value)
        for place, (look, part) in enumerate(zip(looks, parts, strict=True)):
            letterbox = fit(part.size_wh, spec.network_wh, top_left=spec.top_left)
            area = choose(letterbox, spec.resize) is Filter.AREA
            memory = FrameMemory.packed(part.format, part.whole_wh, starts[place])
            job = letterbox_job(memory, wanted, letterbox, sample=place, area=area, corner_xy=part.corner_xy)
            self.buffers.letterbox_jobs[place] = job
            if self._head is not None:
                self.buffers.decode_jobs[place] = self._head.job(place, look.min_score, self._token)
            letterboxes.append(letterbox)
        return letterboxes

    def _is_answered(self, pending: Pending) -> bool:
        """Whether the results are of this launch and not of an earlier one."""
        if self._head is None:
            return True
        tokens = self.buffers.results[: len(pending.looks)]["header"]["token"]
        return bool((tokens == pending.token).all())

    def _found(self, place: int, look: Look, pending: Pending) -> Found:
        network = self._core.network
        try:
            candidates = self._candidates(place, pending.token)
            if candidates is None:
                candidates = network.head.candidates(self._whole_outputs(), look.min_score, place)
            return network.decoder.settle(candidates, pending.letterboxes[place])
        except BadOutput as error:
            return error

    def _candidates(self, place: int, token: int) -> Candidates | None:
        """Return what the kernels found; None where the host has to look at the whole outputs itself."""
        return None if self._head is None else self._head.candidates(self.buffers.results[place], token)

    def _whole_outputs(self) -> dict[str, NDArray[Any]]:
        """Return the network's outputs of this frame; without kernels for them they came down with it."""
        if self._head is not None:
            self.buffers.download_outputs(self._stream)
            self._stream.synchronize()
        return self.buffers.outputs

    # ── the work on the GPU, and its graph ───────────────────────────────────────────────────────────────────────────

    def record(self) -> None:
        """Put a frame's whole work into the stream."""
        buffers, stream, spec = self.buffers, self._stream, self._core.network.spec
        self._clock.mark(0, stream)
        buffers.upload_jobs(stream)
        self.frames.record(stream)
        self._clock.mark(1, stream)
        self._letterbox.launch(
            letterbox_jobs.grid(spec.network_wh, self._batch),
            letterbox_jobs.BLOCK,
            stream,
            (buffers.frame_address, buffers.tensor_address(spec.name), buffers.letterbox_address),
        )
        self._clock.mark(2, stream)
        self._execution.enqueue(stream)
        self._clock.mark(3, stream)
        self._record_decode()
        self._clock.mark(4, stream)
        if self._head is None:
            buffers.download_outputs(stream)
        else:
            buffers.download_results(stream)
        self._clock.mark(5, stream)

    def _record_decode(self) -> None:
        head, buffers, stream = self._head, self.buffers, self._stream
        if head is None:
            return
        self._reset.launch((1, self._batch, 1), (1, 1, 1), stream, (buffers.results_address, buffers.decode_address))
        arguments = (
            buffers.tensor_address(head.boxes),
            buffers.tensor_address(head.scores),
            buffers.results_address,
            buffers.decode_address,
        )
        self._decode.launch(decode_jobs.grid(head.rows, self._batch), decode_jobs.BLOCK, stream, arguments)

    def _launch(self, graph: Graph) -> None:
        self.frames.point()
        graph.launch(self._stream)

    def capture(self, frames: int, frame_nbytes: int) -> None:
        """Warm up, then make a graph of the work for so many frames at a time, of one size.

        Raises:
            GpuError: it can't be captured; everything still works without.
        """
        self.drop_graph()
        self.frames.reserve(frames, frame_nbytes)
        self.buffers.letterbox_jobs["sample"] = NO_SAMPLE
        self.buffers.decode_jobs["sample"] = decode_jobs.NO_SAMPLE
        with capturing:
            self.buffers.clear(self._stream)
            for _ in range(WARM_UPS):
                self.record()
            self._stream.synchronize()
            self.graph = Graph(self._core.context, self._stream, self.record, LEAST_NODES)
        self.frames.captured(self.graph)

    def give_up(self, why: str) -> None:
        """Run without a graph from now on, and say so."""
        self._tell(f"{self._core.network.where}: runs without its CUDA graph: {why}")
        self.drop_graph()

    def drop_graph(self) -> None:
        """Give the graph back."""
        graph, self.graph = self.graph, None
        self.frames.dropped()
        if graph is not None:
            graph.close()

    # ── proof ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def snapshot(self, *, by_graph: bool) -> dict[str, NDArray[Any]]:
        """Run what the memory says once more over poisoned memory, and return copies of all that it leaves behind."""
        graph = self.graph
        self.buffers.poison(self._stream)
        self._stream.synchronize()
        self.buffers.results.view(np.uint8)[...] = 0xFF
        if by_graph:
            assert graph is not None, "captured"
            self._launch(graph)
        else:
            self.record()
        self.buffers.download_outputs(self._stream)
        self._stream.synchronize()
        left = {name: array.copy() for name, array in self.buffers.outputs.items()}
        if self._head is not None:
            left["its launch"] = self.buffers.results["header"]["token"][: self._places].copy()
        return left


def _device_head(head: Head, outputs: Sequence[TensorSpec]) -> DeviceHead | None:
    """Return the kernels' part in a head; None where there are none for it, or for its outputs' type."""
    found = device_head(head, {spec.name: known_shape(spec) for spec in outputs})
    dtypes = {spec.name: spec.dtype for spec in outputs}
    if found is None or {dtypes[found.boxes], dtypes[found.scores]} not in ({"float32"}, {"float16"}):
        return None
    return found
