"""The frames of one launch: where each lies, and how it gets to the GPU."""

from __future__ import annotations

import weakref
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import GpuError
from app.fused.blocks import Blocks
from app.fused.buffers import Buffers
from app.fused.picture import Part
from app.fused.skipping import Skipping
from app.gpu.graph import Graph, Upload
from app.gpu.stream import Stream


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Where one frame is read from.

    Attributes:
        data: uint8, of pinned or registered memory, or any where nothing goes up; holds the picture.
        start: bytes from the lane's place for frames on the GPU to where it goes.
    """

    data: NDArray[np.uint8]
    start: int

    @property
    def address(self) -> int:
        """Of the first byte, on the host."""
        return _address(self.data)


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """A frame in the lane's memory, until another one takes its place.

    Attributes:
        picture: the very array that it is a copy of; not held: another picture may come into its memory, not into it.
        address: of the first byte, as the GPU sees it.
    """

    picture: weakref.ref[NDArray[Any]]
    address: int


class Frames:
    """A frame in a registered block goes up from there, or is read there; another one is copied to the lane's memory.

    Pictures are held until `release`, so that nothing is written into one that the GPU still reads. What went up, or
    was copied to where the GPU reads, stays in the lane's memory, and another lane may look at it there.

    Args:
        buffers: of the lane.
        blocks: of the network.
        skipping: of the network.

    Attributes:
        are_there: the GPU has the frames of this launch from an earlier one: nothing goes up.
        must_go_up: the graph can't leave its copies out.
    """

    def __init__(self, buffers: Buffers, blocks: Blocks, skipping: Skipping) -> None:
        self._buffers = buffers
        self._blocks = blocks
        self._skipping = skipping
        self.are_there = False
        self.must_go_up = False
        self._copies: list[Copy] = []
        self._have_arrived = False
        self._sources: list[Source] = []
        self._slots: list[Source] = []
        self._uploads: list[Upload] = []
        self._is_fixed = False

    def place(self, parts: Sequence[Part], *, copy: bool, there: int | None = None) -> list[int]:
        """Take the frames of a launch; return where that of each part begins, from the lane's place for frames.

        Args:
            parts: of frames of one size.
            copy: they are not those that were brought up last, whose copies are still there.
            there: where the GPU has the one frame of all parts; what the lane's own memory holds stays as it is.
        """
        self.are_there = there is not None
        if there is not None:
            source = Source(_bytes(parts[0].data), there - self._buffers.frame_there(0))
            self._sources = [source]
            return [source.start] * len(parts)
        self.forget()
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
        data = _bytes(part.data)
        memory = None if self._is_fixed else self._blocks.find(part.data)
        if memory is None or memory.mapped_address is None:
            self._copies.append(Copy(weakref.ref(part.data), self._buffers.frame_there(start)))
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

    def arrived(self) -> None:
        """The launch was waited for, and what came back was its own: what it has brought up can be relied on."""
        self._have_arrived = self._have_arrived or not self.are_there

    def forget(self) -> None:
        """Rely on nothing that was brought up so far."""
        self._copies = []
        self._have_arrived = False

    def address_of(self, picture: NDArray[Any]) -> int | None:
        """Return where the lane's memory holds a picture, this very array; None where it doesn't, or not yet.

        A graph that can't leave its copies out would write to it again while another lane looks at it.
        """
        known = self._copies if self._have_arrived and not self.must_go_up else []
        return next((copy.address for copy in known if copy.picture() is picture), None)

    def checksum(self) -> int:
        """Return a number that differs where the frames do."""
        found = 0
        for source in self._sources:
            found = zlib.crc32(source.data.data, found)
        return found

    # ── the way up ───────────────────────────────────────────────────────────────────────────────────────────────────

    def record(self, stream: Stream) -> None:
        """Put the copies to the GPU into the stream; none where it reads the host's memory, or has them already."""
        for source in [] if self.are_there else self._sources:
            self._buffers.upload_frame(source.data, source.start, stream)

    def reserve(self, frames: int, nbytes: int) -> None:
        """Have so many frames go up from the lane's own memory, for a capture."""
        self._slots = [self._slot(at * nbytes, nbytes) for at in range(frames)]
        self._sources, self.are_there = list(self._slots), False
        self.forget()

    def captured(self, graph: Graph) -> None:
        """Learn to tell a graph where to read, or not to; where the driver refuses, it does as it was captured."""
        self._uploads = []
        self._is_fixed = self.must_go_up = not self._buffers.are_shared
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
            self.must_go_up = not self._can_skip()

    def _can_skip(self) -> bool:
        """See that the driver lets the graph leave its copies out, and take them up again."""
        try:
            for upload in [] if self._skipping.is_refused else self._uploads:
                upload.turn(on=False)
                upload.turn(on=True)
        except GpuError as error:
            self._skipping.refuse(error)
        return not self._skipping.is_refused

    def dropped(self) -> None:
        """There is no graph any more: each copy is started by itself."""
        self._uploads = []
        self._is_fixed = self.must_go_up = False

    def point(self) -> None:
        """Tell the graph where the frames of this launch lie; places that none takes read the lane's own memory.

        So would a copy that is left out: what it read before may be gone. It is changed only while it is not left out.

        Raises:
            GpuError: the driver refuses: the graph must not be launched.
        """
        for place, (upload, slot) in enumerate(zip(self._uploads, self._slots, strict=False)):
            is_taken = place < len(self._sources) and not self.are_there
            if not self.are_there:
                upload.turn(on=True)
            upload.read_from((self._sources[place] if is_taken else slot).address)
            upload.turn(on=not self.are_there)


def _bytes(picture: NDArray[Any]) -> NDArray[np.uint8]:
    return picture.reshape(-1).view(np.uint8)


def _address(data: NDArray[np.uint8]) -> int:
    return int(data.__array_interface__["data"][0])
