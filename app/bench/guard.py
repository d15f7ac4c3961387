"""What looking at every picture costs, against plain NumPy that looks at all of it; `python -m app.bench.guard`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from itertools import cycle

import numpy as np
from rich.console import Console
from rich.table import Table

from app.bench.ratio import measure
from app.capture.guard import Guard
from app.capture.isolated import Isolated, python_module
from app.capture.synthetic import Synthetic
from app.config.sections import Guard as GuardSection
from app.config.sections import SyntheticSource
from app.frame import Picture, PixelFormat

SIZE_WH = (1920, 1080)
PICTURES = 8
"""Together they are larger than the processor's caches, as the pictures of a camera are new each time."""
FORMATS = (PixelFormat.BGR8, PixelFormat.NV12, PixelFormat.BAYER_RGGB12)
WAYS = {"guard, as it comes": {}, "guard, every check": {"torn": True, "sharpness": 1.0}}
READS = 150


def pictures(pixels: PixelFormat) -> list[Picture]:
    """Return pictures of noise that pass every check."""
    random = np.random.default_rng(5)
    shape, shift = pixels.shape(SIZE_WH), pixels.bits - 8
    arrays = [random.integers(60, 180, shape).astype(pixels.dtype) << shift for _ in range(PICTURES)]
    return [Picture(array, number, number, format=pixels) for number, array in enumerate(arrays)]


def plain(turn: Iterator[Picture]) -> Callable[[], object]:
    """Return the same questions asked of all pixels, as one would write them down."""
    last = next(turn).data

    def look() -> tuple[bool, bool, bool, bool]:
        nonlocal last
        data, before = next(turn).data, last
        last = data
        return (
            bool(data.max() <= 12),  # noqa: PLR2004 - as in the guard's section
            bool((data >= 250).mean() >= 0.99),  # noqa: PLR2004
            bool(int(data.max()) - int(data.min()) <= 3),  # noqa: PLR2004
            bool((data == before).all()),
        )

    return look


def checked(turn: Iterator[Picture], **keys: object) -> Callable[[], object]:
    """Return the guard's look at the next picture."""
    guard = Guard(GuardSection.model_validate({"stamps": False, **keys}), live=True)
    return lambda: guard.check(next(turn))


def ages_ms(source: Synthetic | Isolated) -> list[float]:
    """Return how old the pictures of a made-up camera are when they can be looked at."""
    with source as opened:
        read = [picture for _ in range(READS) if (picture := opened.read(0.5)) is not None]
    return [(picture.arrived_ns - picture.exposed_ns) / 1e6 for picture in read[10:]]


def main() -> None:
    """Measure and print both tables."""
    console = Console()
    table = Table("pixels", "way", "median ms", "least ms", "of plain NumPy", title="one 1080p picture")
    for pixels in FORMATS:
        turn = cycle(pictures(pixels))
        ways = {name: checked(turn, **keys) for name, keys in WAYS.items()}
        timings = measure({"plain NumPy, all pixels": plain(turn), **ways}, rounds=30, burst=5)
        reference = timings["plain NumPy, all pixels"]
        for name, timing in timings.items():
            share = timing.median_ms / reference.median_ms
            table.add_row(pixels.value, name, f"{timing.median_ms:.3f}", f"{timing.least_ms:.3f}", f"{share:.3f}")
    console.print(table)
    section = SyntheticSource(kind="synthetic", width=SIZE_WH[0], height=SIZE_WH[1])
    table = Table(
        "way", "p50 ms", "p90 ms", title="1080p BGR at 30 a second, from its exposure until it can be looked at"
    )
    isolated = Isolated(section, python_module("app.wiring.isolate"), 20.0)
    ways_in: dict[str, Synthetic | Isolated] = {"in this process": Synthetic(section), "isolate: true": isolated}
    for name, source in ways_in.items():
        cuts = statistics.quantiles(ages_ms(source), n=10)
        table.add_row(name, f"{cuts[4]:.2f}", f"{cuts[8]:.2f}")
    console.print(table)


if __name__ == "__main__":
    main()
