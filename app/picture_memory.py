"""Memory for the pictures of one camera, used again as soon as nobody holds the picture that was in it."""

from __future__ import annotations

import logging
import math
import mmap
import weakref
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from typing_extensions import Self

BLOCKS = 8
"""Of one camera: one is written to, one waits, a batch is looked at, and the gate and the evidence hold a few."""
HUGE = 2 << 20
"""Bytes of a huge page on x86-64, and on aarch64 with pages of 4 KiB; a multiple of it is asked for anyway."""
IDLE = 256
"""Pictures after which the system gets a block back that none of them needed."""

log = logging.getLogger(__name__)


class Block(mmap.mmap):
    """Whole pages that hold one picture at a time; they are there as long as this, or a picture in them, is.

    A process that is forked off does not get them. Else they would be exchanged for a copy when they are written to,
    and a GPU that was told of them would go on reading the old ones.

    Attributes:
        address: of the first byte; begins a page.
        lent_at: its owner's count of pictures when it was lent last.
    """

    address: int
    lent_at: int
    _owner: weakref.ref[PictureMemory]
    _lent: weakref.ref[NDArray[Any]] | None

    @classmethod
    def of(cls, owner: PictureMemory, nbytes: int) -> Self:
        """Take so many bytes, rounded up to pages; they are had when they are first written to.

        To huge pages, where a picture fills half of one: Linux 6.7 and later begins such a block where a huge page
        begins. Else one of 2 MB or less would have none, and a picture in small pages takes twice as long to be read.

        Raises:
            OSError: there is no memory.
        """
        page = HUGE if nbytes >= HUGE // 2 else mmap.PAGESIZE
        size = -(-nbytes // page) * page
        block = cls(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        block.madvise(mmap.MADV_DONTFORK)
        with suppress(OSError):  # a kernel may have been built without; they are faster, as NumPy's are
            block.madvise(mmap.MADV_HUGEPAGE)
        block.address = np.ndarray((1,), np.uint8, block).__array_interface__["data"][0]
        block._owner = weakref.ref(owner)
        block._lent = None
        block.lent_at = 0
        return block

    @property
    def is_held(self) -> bool:
        """Whether a picture in it, or a view of one, is still to be had by anybody."""
        return self._lent is not None and self._lent() is not None

    @property
    def is_given_up(self) -> bool:
        """Whether no other picture will come into it."""
        owner = self._owner()
        return owner is None or not owner.has(self)

    def lend(self, shape: Sequence[int], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array over its first bytes; nobody may hold it.

        All that NumPy, OpenCV or a memoryview make of the array hold the array itself, since this, its base, is none:
        so it is gone when the last of them is, and not before. It takes no part in cycles that the garbage collector
        breaks up, whose finalisers could still look at it.
        """
        picture: NDArray[Any] = np.ndarray(tuple(shape), dtype, self)
        self._lent = weakref.ref(picture)
        return picture


def block_of(array: NDArray[Any]) -> Block | None:
    """Return the block that an array, or what it is a view of, lies in; None where it is ordinary memory."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, Block) else None


class PictureMemory:
    """A few blocks, made when they are needed.

    Whoever takes one never waits: where all are held he gets ordinary memory. Nothing has to be given back: a block is
    free when the picture that it was lent for is gone.

    Args:
        most: blocks.
        worth_a_copy: pictures that a library has put elsewhere are copied to a block, because somebody would have to
            copy them later, and at a worse time: a GPU reads blocks by itself.

    Attributes:
        missed: how often all blocks were held.
        worth_a_copy: as given.
    """

    def __init__(self, most: int = BLOCKS, *, worth_a_copy: bool = False) -> None:
        self.missed = 0
        self.worth_a_copy = worth_a_copy
        self._most = most
        self._blocks: list[Block] = []
        self._taken = 0
        self._taking = Lock()

    def has(self, block: Block) -> bool:
        """Whether it may lend this block again."""
        return any(block is own for own in self._blocks)

    def take(self, shape: Sequence[int], dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """Return memory for a picture, C-contiguous; what is in it is left over from before.

        It is the caller's, who fills it once and then hands it on.
        """
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        if nbytes and self._taking.acquire(blocking=False):
            try:
                block = self._free(nbytes)
                if block is not None:
                    self._taken += 1
                    block.lent_at = self._taken
                    self._let_go()
                    return block.lend(shape, dtype)
            finally:
                self._taking.release()
            self._miss()
        return np.empty(tuple(shape), dtype)

    def keep(self, picture: NDArray[Any]) -> NDArray[Any]:
        """Return a picture that a library has made, C-contiguous: in a block where that is worth a copy."""
        if picture.flags.c_contiguous and not self.worth_a_copy:
            return picture
        kept = self.take(picture.shape, picture.dtype)
        np.copyto(kept, picture)
        return kept

    def _free(self, nbytes: int) -> Block | None:
        """Return a block that nobody holds; the first that fits, so that those at the end are seldom touched."""
        free = [block for block in self._blocks if not block.is_held]
        fitting = next((block for block in free if len(block) >= nbytes), None)
        if fitting is not None:
            return fitting
        if len(self._blocks) >= self._most:
            if not free:
                return None
            self._blocks = [block for block in self._blocks if block is not free[0]]
        try:
            made = Block.of(self, nbytes)
        except OSError:
            return None
        self._blocks.append(made)
        return made

    def _let_go(self) -> None:
        """Give up the last block where it has been of no use for long, so that a busy moment does not cost for ever."""
        last = self._blocks[-1]
        if self._taken - last.lent_at > IDLE and not last.is_held:
            self._blocks = self._blocks[:-1]

    def _miss(self) -> None:
        self.missed += 1
        if self.missed == 1:
            log.info("all %d blocks of a camera's memory are held: pictures take ordinary memory meanwhile", self._most)
