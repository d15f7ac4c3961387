"""The lanes of one network: which there are, which are made ready, and which looks at a frame."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import product
from types import TracebackType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from app.engine import Found, Look
from app.errors import GpuError
from app.frame import PixelFormat, Pixels
from app.fused.core import Core
from app.fused.lane import Lane
from app.fused.network import Network
from app.fused.picture import Part, part_of
from app.fused.proof import Proof
from app.picture_memory import PictureMemory

log = logging.getLogger(__name__)

FrameFormat: TypeAlias = tuple[PixelFormat, tuple[int, int]]
"""What a camera gives: format, and width and height in pixels."""

Key: TypeAlias = tuple[PixelFormat, tuple[int, int], int, int, int]
"""Format, size, frames at a time, places of the batch, and which of a pair."""

MOST_LANES = 16
"""With a graph; where there are more formats than that, the one that was not used for longest goes."""


class Lanes:
    """Entering loads the network and makes lanes ready for the formats that are known; see `Engine.backend`.

    A format that comes unannounced gets a lane and a graph when it comes a second time: a folder of pictures may have a
    new size in every file, and capturing takes longer than looking.

    Args:
        network: to be looked with.
        formats: what the cameras are known to give.
        paired: two lanes for each format, so that one frame goes up while the other is looked at.
        tell: takes a line when something runs otherwise than it was meant to.
    """

    def __init__(
        self,
        network: Network,
        *,
        formats: Sequence[FrameFormat] = (),
        paired: bool = False,
        tell: Callable[[str], None] = log.warning,
    ) -> None:
        self._network = network
        self._formats = tuple(formats)
        self._turns = 2 if paired else 1
        self._tell = tell
        self._core = Core(network, tell)
        self._lanes: dict[Key, Lane] = {}
        self._proofs: dict[Key, Proof] = {}
        self._loose: dict[tuple[PixelFormat, int], tuple[int, Lane]] = {}
        self._met: set[Key] = set()

    @property
    def turns(self) -> int:
        """How many frames of one format may be under way at a time."""
        return self._turns

    @property
    def provider(self) -> str:
        """The library that runs it; empty before it is entered."""
        return self._core.provider

    @property
    def is_entered(self) -> bool:
        """Whether it can look."""
        return self._core.is_entered

    def __enter__(self) -> Self:
        """Load the network; capture and try a graph for each format that is known.

        Raises:
            ModelError: it can't be run here.
        """
        if self._core.is_entered:
            return self
        with ExitStack() as undo:
            undo.callback(self.close)
            self._core.__enter__()
            self._try_once()
            for (pixels, size_wh), batch in product(self._formats, self._ready_batches()):
                for turn in range(self._turns):
                    self._rehearse((pixels, size_wh, 1 if batch == self._core.batch_for(1) else batch, batch, turn))
            undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Free everything; safe to call twice."""
        self.close()

    def close(self) -> None:
        """Free everything, what runs the engine before the engine; safe to call twice."""
        with ExitStack() as stack:
            stack.callback(self._core.__exit__, None, None, None)
            for lane in self._all():
                stack.callback(lane.close)
            for lane in self._all():  # before any is closed: an error may have left one that reads another one's frame
                stack.callback(lane.wait)
            self._lanes.clear()
            self._proofs.clear()
            self._loose.clear()
            self._met.clear()

    def hand_over(self) -> None:
        """Let another thread go on with it; nothing may be under way; see `ThreadBound`."""
        self._core.hand_over()

    def take_over(self) -> None:
        """Go on with it on this thread; see `ThreadBound`."""
        self._core.take_over()

    @property
    def formats(self) -> tuple[FrameFormat, ...]:
        """What the cameras were known to give, and what came since; safe to ask on any thread."""
        return tuple(dict.fromkeys([*self._formats, *(key[:2] for key in [*self._lanes])]))

    @property
    def frames(self) -> int:
        """How many frames are worth giving at a time: one batch, or one for each of a pair; known once entered."""
        return self._core.batch_for(max(self._network.batches)) * self._turns

    def _ready_batches(self) -> list[int]:
        return sorted({self._core.batch_for(batch) for batch in self._network.batches})

    @property
    def most(self) -> int:
        """How many looks a lane takes at a time; known once entered."""
        return self._core.batches[-1]

    def _all(self) -> Iterator[Lane]:
        yield from self._lanes.values()
        yield from (lane for _, lane in self._loose.values())

    def begin(self, *, again: bool) -> None:
        """Begin a call, with nothing under way; forget the frames of earlier ones unless they are looked at again.

        Raises:
            GpuError: what an error had left under way has failed.
        """
        for lane in self._all():
            lane.wait()
            if not again:
                lane.frames.forget()

    def there(self, data: NDArray[Any], lane: Lane) -> int | None:
        """Return where on the GPU a frame lies that was brought up since frames were forgotten; None: it has to go up.

        It stays there until a frame goes up in the lane that has it.

        Args:
            data: of the whole picture, this very array.
            lane: that will look at it.
        """
        if lane.frames.must_go_up:
            return None
        found = (other.frames.address_of(data) for other in self._all())
        return next((address for address in found if address is not None), None)

    def ready(self, parts: Sequence[Part], turn: int) -> Lane | None:
        """Return the lane with a graph that looks at these parts of frames of one format and size, if it is there."""
        key = self._key(parts, turn)
        if key not in self._lanes:
            return None
        self._lanes[key] = self._lanes.pop(key)  # the last one used is the last to go
        return self._lanes[key]

    def prepare(self, parts: Sequence[Part], turn: int) -> Lane:
        """Return a lane for what `ready` has none for; nothing may be under way, since an older lane may have to go."""
        key = self._key(parts, turn)
        if key in self._met:
            return self._new_lane(key)
        self._met.add(key)
        return self._loose_lane(key)

    def _key(self, parts: Sequence[Part], turn: int) -> Key:
        part, batch = parts[0], self._core.batch_for(len(parts))
        frames = 1 if all(other.data is part.data for other in parts) else batch
        return part.format, part.whole_wh, frames, batch, turn

    def finish(self, lane: Lane) -> list[Found]:
        """Return what a lane found; compare its graph with the calls where that was not done often enough."""
        found = lane.finish()
        for key, other in self._lanes.items():
            if other is lane and lane.graph is not None and not lane.trusted:
                self._proofs[key].add(lane)
        lane.frames.release()
        return found

    def _new_lane(self, key: Key) -> Lane:
        if len(self._lanes) >= MOST_LANES:
            oldest = next(iter(self._lanes))
            del self._proofs[oldest]
            self._lanes.pop(oldest).close()
        lane = Lane(self._core, key[0], _nbytes(key), key[3], self._tell)
        self._lanes[key], self._proofs[key] = lane, Proof()
        try:
            lane.capture(key[2], _nbytes(key) // key[2])
        except GpuError as error:
            lane.give_up(str(error))
        return lane

    def _loose_lane(self, key: Key) -> Lane:
        """Return a lane for frames of any size, without a graph."""
        pixels, _, _, batch, _ = key
        capacity, lane = self._loose.get((pixels, batch), (0, None))
        if lane is None or capacity < _nbytes(key):
            if lane is not None:
                lane.close()
            lane = Lane(self._core, pixels, _nbytes(key), batch, self._tell)
            self._loose[pixels, batch] = _nbytes(key), lane
        return lane

    def _try_once(self) -> None:
        """Run the network before the first frame: what can't run is refused now."""
        width, height = self._network.spec.network_wh
        look = Look(np.zeros((height, width, 3), np.uint8), 0.5)
        lane = self._loose_lane((PixelFormat.BGR8, (width, height), 1, self._core.batch_for(1), 0))
        lane.start([look], [part_of(look.image)])
        lane.finish()
        lane.frames.release()

    def _rehearse(self, key: Key) -> None:
        """Make a lane ready and try its graph on pictures of noise; real ones have the last word.

        The first lies in memory as cameras have it, the second has to be copied to the lane's own.
        """
        pixels, size_wh, frames, _, _ = key
        lane, tried = self._new_lane(key), Proof()
        kinds: tuple[Callable[..., NDArray[Any]], ...] = (PictureMemory(frames).take, np.empty)
        for seed, take in enumerate(kinds):
            random = np.random.default_rng(seed)
            noise = [take(pixels.shape(size_wh), pixels.dtype) for _ in range(frames)]
            for data in noise:
                data[...] = random.integers(0, 256, data.shape)
            images = noise if pixels is PixelFormat.BGR8 else [Pixels(data, pixels) for data in noise]
            lane.start([Look(image, 0.5) for image in images], [part_of(image) for image in images])
            lane.finish()
            tried.add(lane)
            lane.frames.release()
        lane.doubt()


def _nbytes(key: Key) -> int:
    """Return how large the frames are that go up together."""
    pixels, size_wh, frames, _, _ = key
    return int(np.prod(pixels.shape(size_wh))) * pixels.dtype.itemsize * frames
