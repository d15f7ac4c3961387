"""How fast bytes move: within the GPU, to it and from it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.bench.device.gpu import Gpu
from app.bench.ratio import measure
from app.bench.row import Row
from app.gpu.memory import RegisteredMemory, to_device, to_host
from app.picture_memory import PictureMemory, block_of

PART = "copies"


def gb_per_s(gpu: Gpu, nbytes: int) -> tuple[float, Row]:
    """Return what the GPU's memory moves, read and written bytes added up, and the row that says so."""
    source, target = gpu.memory(nbytes), gpu.memory(nbytes)
    timing = gpu.time(lambda _: gpu.copy(target.address, source.address, nbytes), gpu.burst)
    source.close()
    target.close()
    speed = 2 * nbytes / timing.median_ms / 1e6
    what = f"{nbytes / 1e6:,.0f} MB within the GPU, the floor's measure"
    return speed, Row(PART, what, timing.median_ms, timing.least_ms, f"{speed:,.0f} GB/s")


def link_rows(gpu: Gpu, nbytes: int) -> list[Row]:
    """Measure the way to the GPU and back, from and to pinned memory."""
    here, there = gpu.pinned(nbytes), gpu.memory(nbytes)
    ways = {
        "to the GPU": lambda _: to_device(here.bytes, there.address, gpu.stream),
        "from the GPU": lambda _: to_host(here.bytes, there.address, gpu.stream),
    }
    rows = []
    for way, record in ways.items():
        timing = gpu.time(record, gpu.burst)
        speed = nbytes / timing.median_ms / 1e6
        what = f"{nbytes / 1e6:,.1f} MB {way}"
        rows.append(Row(PART, what, timing.median_ms, timing.least_ms, f"{speed:,.1f} GB/s"))
    here.close()
    there.close()
    return rows


def source_rows(gpu: Gpu, nbytes: int) -> list[Row]:
    """Measure a frame's way to the GPU by the host's clock, started and waited for, out of each kind of memory."""
    picture = PictureMemory().take((nbytes,))
    picture.fill(1)
    block = block_of(picture)
    assert block is not None, "none of it was taken"
    registered, pinned, there = RegisteredMemory(gpu.context, block), gpu.pinned(nbytes), gpu.memory(nbytes)
    pageable = np.full(nbytes, 1, np.uint8)

    def up(source: NDArray[np.uint8]) -> None:
        to_device(source, there.address, gpu.stream)
        gpu.stream.synchronize()

    def copied() -> None:
        np.copyto(pinned.bytes, pageable)
        up(pinned.bytes)

    ways: dict[str, Callable[[], None]] = {
        "a camera's registered block": lambda: up(picture),
        "pinned memory": lambda: up(pinned.bytes),
        "other memory, copied to pinned memory first": copied,
        "other memory": lambda: up(pageable),
    }
    timings = measure(ways, rounds=gpu.rounds)
    for memory in (registered, pinned, there):
        memory.close()
    block_ms = timings["a camera's registered block"].median_ms
    return [
        Row(
            PART,
            f"{nbytes / 1e6:,.1f} MB to the GPU from {kind}, waited for",
            timing.median_ms,
            timing.least_ms,
            f"{timing.median_ms / block_ms:.2f} × the block's",
        )
        for kind, timing in timings.items()
    ]
