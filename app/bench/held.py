"""Sources of a measured line: pictures held in memory, and a real source that ends after so many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic_ns
from types import TracebackType

from typing_extensions import Self

from app.capture.base import Source
from app.capture.ticker import Ticker
from app.errors import EndOfStream
from app.frame import Picture


class Held:
    """Gives pictures that were decoded before, in turn; each is exposed when it is asked for, or at a clock's tick.

    Args:
        pictures: one at least.
        fps: pictures a second; None for as fast as they are wanted.
    """

    def __init__(self, pictures: Sequence[Picture], fps: float | None = None) -> None:
        self._pictures = pictures
        self._ticker = Ticker(fps or 1.0, paced=fps is not None)
        self._given = 0

    def __enter__(self) -> Self:
        """Start the clock."""
        self._given = 0
        self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing is held open."""

    def read(self, timeout_s: float) -> Picture | None:
        """Return the next picture, None where none is due in time."""
        tick = self._ticker.tick(timeout_s)
        if tick is None:
            return None
        picture = self._pictures[self._given % len(self._pictures)]
        self._given += 1
        return replace(picture, exposed_ns=tick[1], arrived_ns=monotonic_ns())


class Limited:
    """A source that ends after so many pictures, and knows when it was asked for each.

    Args:
        source: entered and left with this one.
        frames: how many.
        watch: given every picture; says whether to go on.
    """

    def __init__(self, source: Source, frames: int, watch: Callable[[Picture], bool] = lambda _: True) -> None:
        self._source = source
        self._frames = frames
        self._watch = watch
        self.asked_ns: list[int] = []
        """When picture k was asked for; the last one is when it had ended."""

    def __enter__(self) -> Self:
        """Open the source."""
        self._source.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self._source.__exit__(kind, error, traceback)

    def read(self, timeout_s: float) -> Picture | None:
        """Return the source's next picture.

        Raises:
            EndOfStream: so many have been read, or `watch` said that it is enough.
        """
        asked_ns = monotonic_ns()
        picture = self._source.read(timeout_s) if len(self.asked_ns) < self._frames else None
        if picture is None and len(self.asked_ns) < self._frames:
            return None
        self.asked_ns.append(asked_ns)
        if picture is None:
            raise EndOfStream(f"{self._frames} pictures were read")
        if not self._watch(picture):
            self._frames = len(self.asked_ns)
        return picture
