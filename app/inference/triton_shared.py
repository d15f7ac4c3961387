"""Memory that this process and a Triton server on the same machine both see."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from app.inference.shapes import known_shape
from app.model import TensorSpec

FOLDER = Path("/dev/shm")  # noqa: S108 - where POSIX shared memory is on Linux; the server looks there for a key
ALIGNED = 64


class Shared:
    """One piece of shared memory with a place for each tensor, several times over.

    A call that was given up may still be written by the server: its places are left alone from then on (`next_slot`),
    or an old picture's numbers would become a new one's. Pages that nobody touches take no memory.

    Args:
        specs: tensors with no open axis.
        slots: how often each has a place.

    Attributes:
        key: the name by which the server opens it.
        size: in bytes.
        arrays: of the slot in use, by tensor; valid until `close`.
        offsets: where they begin, in bytes.
    """

    def __init__(self, specs: Mapping[str, TensorSpec], slots: int = 1) -> None:
        self.key = f"taktsight-triton-{os.getpid()}-{uuid4().hex[:12]}"
        self._specs = dict(specs)
        self._slots = slots
        self._slot = 0
        self._stride = sum(_aligned(_bytes(spec)) for spec in specs.values())
        self.size = max(self._stride * slots, 1)
        self._path = FOLDER / self.key
        descriptor = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        try:
            os.ftruncate(descriptor, self.size)
            self._memory = mmap.mmap(descriptor, self.size)
        finally:
            os.close(descriptor)
        self.arrays: dict[str, NDArray[Any]] = {}
        self.offsets: dict[str, int] = {}
        self._place()

    def next_slot(self) -> bool:
        """Go on in places that no call has had; False where none is left."""
        if self._slot + 1 >= self._slots:
            return False
        self._slot += 1
        self._place()
        return True

    def close(self) -> None:
        """Take its name away; the memory goes with the last array that looks at it. Safe to call twice."""
        self._path.unlink(missing_ok=True)

    def _place(self) -> None:
        offset = self._slot * self._stride
        for name, spec in self._specs.items():
            self.offsets[name] = offset
            count = _bytes(spec) // np.dtype(spec.dtype).itemsize
            flat = np.frombuffer(self._memory, spec.dtype, count, offset)
            self.arrays[name] = flat.reshape(known_shape(spec))
            offset += _aligned(_bytes(spec))


def _bytes(spec: TensorSpec) -> int:
    return int(np.prod(known_shape(spec), dtype=np.int64)) * np.dtype(spec.dtype).itemsize


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED
