"""How fast bytes move: within the GPU, to it and from it."""

from __future__ import annotations

from app.bench.device.gpu import Gpu
from app.bench.row import Row
from app.gpu.memory import to_device, to_host

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
