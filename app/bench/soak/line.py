"""The line of a soak, in a process of its own: the service as `taktsight run` runs it, with unruly parts.

Usage: python -m app.bench.soak.line CONFIG RECORD. Orders come on the standard input, one a line: a fault, whom it
concerns (or -) and its seconds. RECORD gets the id of every result that was judged, which what arrives is held against.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import TextIO

from app.bench.soak.wall import WallClock

CLOCK = WallClock()
if __name__ == "__main__":  # before anything keeps the real one for itself
    CLOCK.take_over()

from app.bench.soak.unruly import QuickEngine, Troubles, UnrulyEngine, UnrulySource  # noqa: E402 - the clock first
from app.config import load  # noqa: E402
from app.engine import Engine  # noqa: E402
from app.frame import AnyImage  # noqa: E402
from app.pipeline import Emit  # noqa: E402
from app.publish.build import message_id  # noqa: E402
from app.runner import run_until_stopped  # noqa: E402
from app.verdict import Outcome  # noqa: E402
from app.wiring.swap import Swap  # noqa: E402

REAL = "front"
"""The camera with the real engine."""
NAMES = ("cover", "screw", "hole", "brass", "scratch")
MALLINFO2 = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
logger = logging.getLogger(__name__)
BACK_S, FORTH_S = -2 * 3600.0, 24 * 3600.0


class Orders:
    """Takes the orders, on a thread of its own."""

    def __init__(self, troubles: Troubles) -> None:
        self._troubles = troubles
        self._forth = False

    def listen(self) -> None:
        """Take orders until nobody gives any."""
        for line in _lines(0):
            name, camera, seconds = line.split()
            if name == "memory":
                _tell_memory()
            elif name == "clock":
                CLOCK.step(FORTH_S if self._forth else BACK_S)
                self._forth = not self._forth
            else:
                self._troubles.begin(name if camera == "-" else f"{name} {camera}", float(seconds))


def _tell_memory() -> None:
    """Log how many blocks of memory Python has given out: growth there is a leak of ours, elsewhere of a library's."""
    gc.collect()
    logger.info("memory", extra={"blocks": sys.getallocatedblocks(), **_malloc()})


class _Malloc(ctypes.Structure):
    """What glibc's mallinfo2(3) fills."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in MALLINFO2)


def _malloc() -> dict[str, int]:
    """Return the bytes that the C library has given out and those that it keeps; nothing where it does not tell."""
    mallinfo2 = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo2 is None:
        return {}
    mallinfo2.restype = _Malloc
    told = mallinfo2()
    return {"in_use": told.uordblks + told.hblkhd, "kept": told.fordblks}


def _lines(number: int) -> Iterator[str]:
    """Yield whole lines of an open file, read so that no lock of Python's is held at the end of the process."""
    text = b""
    while data := os.read(number, 4096):
        *lines, text = (text + data).split(b"\n")
        yield from (line.decode() for line in lines)


def swap_of(troubles: Troubles, record: TextIO) -> Swap:
    """Put unruly parts in the place of the product's, and write down every result at the moment of its verdict."""

    def engine(camera: str, inner: Engine) -> Engine:
        return UnrulyEngine(inner if camera == REAL else QuickEngine(NAMES), troubles)

    def emit(inner: Emit) -> Emit:
        def told(outcome: Outcome, image: AnyImage) -> None:
            record.write(message_id(outcome) + "\n")
            inner(outcome, image)

        return told

    return Swap(source=lambda camera, inner: UnrulySource(camera, inner, troubles), engine=engine, emit=emit)


def main(config: str, record: str) -> int:
    """Run until SIGTERM."""
    troubles = Troubles()
    Thread(target=Orders(troubles).listen, name="orders", daemon=True).start()
    with Path(record).open("w", encoding="ascii", buffering=1) as file:
        stuck = run_until_stopped(load(Path(config)), swap_of(troubles, file))
    return 1 if stuck else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
