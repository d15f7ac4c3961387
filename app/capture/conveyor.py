"""A camera panned over a strip of tiles: a moving line of any length, with known truth and no video file."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from time import monotonic_ns
from types import TracebackType

from typing_extensions import Self

from app.capture.listing import pictures_in
from app.capture.picture_file import SUFFIXES, load
from app.capture.strip import Belt
from app.capture.ticker import Ticker
from app.config.sections import ConveyorSource
from app.errors import EndOfStream, SourceError
from app.frame import NO_IMAGE, Image, Picture
from app.picture_memory import PictureMemory
from app.verdict import Reason

KEPT_TILES = 3
"""Decoded tiles kept in memory: the two in view and the one before."""


class Conveyor:
    """The strip as a camera; the label is the belt position under the centre line.

    `belt.in_view(k)` tells which parts lie where in picture k; the k of a picture is its label's position times fps
    over the belt's speed. Paced, `exposed_ns` is the time at which the camera's clock asked for the picture.

    Attributes:
        belt: the geometry, known once entered.
    """

    belt: Belt

    def __init__(self, section: ConveyorSource) -> None:
        self._section = section
        self._memory = PictureMemory()
        self._tiles = Tiles(Path(section.path))
        self._ticker = Ticker(section.fps, section.paced)

    def __enter__(self) -> Self:
        """List the tiles and decode the first ones, then start the belt.

        Raises:
            SourceError: there is no tile, or the first can't be decoded.
        """
        width = self._tiles.open()
        self.belt = Belt(width, self._section.belt_px_s, self._section.fps, self._section.parts)
        self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Let go of the decoded tiles."""
        self._tiles.close()

    @property
    def missed(self) -> int:
        """Pictures that were read too late and so never taken."""
        return self._ticker.missed

    def read(self, timeout_s: float) -> Picture | None:
        """Return the window over the belt at the next tick of the camera's clock."""
        tick = self._ticker.tick(timeout_s)
        if tick is None:
            return None
        index, exposed_ns = tick
        if self.belt.is_past_end(index):
            raise EndOfStream(f"the last of {self.belt.parts} parts has passed")
        view = self._view(index)
        image, fault = (NO_IMAGE, view) if isinstance(view, Reason) else (view, None)
        return Picture(image, exposed_ns, monotonic_ns(), f"belt {self.belt.centre_px(index)} px", fault=fault)

    def _view(self, index: int) -> Image | Reason:
        """Copy the window out of the tiles under it: two slices at most."""
        image_hwc = self._memory.take(self._tiles.shape)
        width = self.belt.tile_px
        for part, offset in self.belt.in_view(index):
            tile = self._tiles.get(part)
            if isinstance(tile, Reason):
                return tile
            left, right = max(0, offset), min(width, offset + width)
            image_hwc[:, left:right] = tile[:, left - offset : right - offset]
        return image_hwc


class Tiles:
    """The tiles of a folder in natural order, used again and again; decoded when they are needed."""

    shape: tuple[int, int, int]

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: list[Path] = []
        self._decoded: OrderedDict[int, Image] = OrderedDict()

    def open(self) -> int:
        """List the folder, decode the tiles of the first picture and return a tile's width in pixels."""
        try:
            self._paths = pictures_in(self._folder, SUFFIXES)
        except OSError as error:
            raise SourceError(f"{self._folder}: {error.strerror}; a conveyor needs a folder of tiles") from error
        if not self._paths:
            raise SourceError(f"{self._folder}: no picture in this folder; a conveyor needs tiles of one size")
        first = load(self._paths[0])
        if isinstance(first, Reason):
            raise SourceError(f"{self._paths[0]}: {first.text}")
        self.shape = first.shape
        self._decoded[0] = first
        self.get(-1)
        return int(first.shape[1])

    def close(self) -> None:
        """Let go of the decoded tiles."""
        self._decoded.clear()

    def get(self, part: int) -> Image | Reason:
        """Return the tile in which a part lies, borrowed and not to be written to.

        Raises:
            SourceError: its size is not that of the first tile.
        """
        index = part % len(self._paths)
        if index not in self._decoded:
            loaded = load(self._paths[index])
            if isinstance(loaded, Reason):
                return loaded
            self._check_size(index, loaded)
            self._decoded[index] = loaded
        self._decoded.move_to_end(index)
        while len(self._decoded) > KEPT_TILES:
            self._decoded.popitem(last=False)
        return self._decoded[index]

    def _check_size(self, index: int, tile: Image) -> None:
        if tile.shape != self.shape:
            size, first = (f"{shape[1]}x{shape[0]}" for shape in (tile.shape, self.shape))
            raise SourceError(
                f"{self._paths[index]}: the tile is {size}, the first is {first}; all must be of one size"
            )
