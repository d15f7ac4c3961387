"""The frames of one launch: where each lies, and how it gets to the GPU."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.errors import GpuError
from app.fused.blocks import Blocks
from app.fused.buffers import Buffers
from app.fused.picture import Part
from app.gpu.graph import Graph, Upload
from app.gpu.stream import Stream


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Where one frame is read from.

    Attributes:
        data: uint8, of pinned or registered memory; holds the picture.
        start: bytes from the lane's place for frames on the GPU to where it goes.
    """

    data: NDArray[np.uint8]
    start: int

    @property
    def address(self) -> int:
        """Of the first byte, on the host."""
        return _address(self.data)


class Frames:
    """A frame in a registered block goes up from there, or is read there; another one is copied to the lane's memory.

    Pictures are held until `release`, so that nothing is written into one that the GPU still reads.

    Args:
        buffers: of the lane.
        blocks: of the network.
    """

    def __init__(self, buffers: Buffers, blocks: Blocks) -> None:
        self._buffers = buffers
        self._blocks = blocks
        self._sources: list[Source] = []
        self._slots: list[Source] = []
        self._uploads: list[Upload] = []
        self._is_fixed = False

    def place(self, parts: Sequence[Part], *, copy: bool) -> list[int]:
        """Take the frames of a launch; return where that of each part begins, from the lane's place for frames.

        Args:
            parts: of frames of one size.
            copy: they are not those that were taken last, whose copies are still there.
        """
        starts: list[int] = []
        self._sources, end = [], 0
        for place, part in enumerate(parts):
            known = next((at for at, other in enumerate(parts[:place]) if other.data is part.data), None)
            if known is not None:
                starts.append(starts[known])
                continue
            source = self._source(part, end, copy=copy)
            starts.append(source.start)
            self._sources.append(source)
            end += source.data.nbytes
        return starts

    def _source(self, part: Part, start: int, *, copy: bool) -> Source:
        data = part.data.reshape(-1).view(np.uint8)
        memory = None if self._is_fixed else self._blocks.find(part.data)
        if memory is None:
            own = self._slot(start, data.nbytes)
            if copy:
                np.copyto(own.data, data)
            return own
        if memory.mapped_address is None:
            return Source(data, start)
        there = memory.mapped_address + _address(data) - memory.block.address
        return Source(data, there - int(self._buffers.frame_address))

    def _slot(self, start: int, nbytes: int) -> Source:
        return Source(self._buffers.frame[start : start + nbytes], start)

    def release(self) -> None:
        """Hold the pictures no longer."""
        self._sources = []

    def checksum(self) -> int:
        """Return a number that differs where the frames do."""
        found = 0
        for source in self._sources:
            found = zlib.crc32(source.data.data, found)
        return found

    # ── the way up ───────────────────────────────────────────────────────────────────────────────────────────────────

    def record(self, stream: Stream) -> None:
        """Put the copies to the GPU into the stream; none where it reads the host's memory."""
        for source in self._sources:
            self._buffers.upload_frame(source.data, source.start, stream)

    def reserve(self, frames: int, nbytes: int) -> None:
        """Have so many frames go up from the lane's own memory, for a capture."""
        self._slots = [self._slot(at * nbytes, nbytes) for at in range(frames)]
        self._sources = list(self._slots)

    def captured(self, graph: Graph) -> None:
        """Learn to tell a graph where to read; where the driver refuses that, it reads what it was captured with."""
        self._uploads = []
        self._is_fixed = not self._buffers.are_shared
        if self._buffers.are_shared or self._blocks.are_refused:
            return
        try:
            for slot in self._slots:
                upload = graph.upload_to(self._buffers.frame_there(slot.start), slot.data.nbytes)
                upload.read_from(slot.address)  # as it is: to see that the driver takes it
                self._uploads.append(upload)
        except GpuError as error:
            self._uploads = []
            self._blocks.refuse(error)
        else:
            self._is_fixed = False

    def dropped(self) -> None:
        """There is no graph any more: each copy is started by itself."""
        self._uploads = []
        self._is_fixed = False

    def point(self) -> None:
        """Tell the graph where the frames of this launch lie; places that none takes read the lane's own memory.

        Raises:
            GpuError: the driver refuses: the graph must not be launched.
        """
        for place, (upload, slot) in enumerate(zip(self._uploads, self._slots, strict=False)):
            source = self._sources[place] if place < len(self._sources) else slot
            upload.read_from(source.address)


def _address(data: NDArray[np.uint8]) -> int:
    return int(data.__array_interface__["data"][0])
