"""What looking at every picture costs, against plain NumPy that looks at all of it; `python -m app.bench.guard`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle

import numpy as np
from rich.console import Console
from rich.table import Table

from app.bench.ratio import measure
from app.capture.guard import Guard
from app.config.sections import Guard as GuardSection
from app.frame import Picture, PixelFormat

SIZE_WH = (1920, 1080)
PICTURES = 8
"""Together they are larger than the processor's caches, as the pictures of a camera are new each time."""
FORMATS = (PixelFormat.BGR8, PixelFormat.NV12, PixelFormat.BAYER_RGGB12)
WAYS = {"guard, as it comes": {}, "guard, every check": {"torn": True, "sharpness": 1.0}}


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


def main() -> None:
    """Measure and print the table."""
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


if __name__ == "__main__":
    main()
