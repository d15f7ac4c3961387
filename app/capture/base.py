"""The seam where pictures come in."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol

from typing_extensions import Self

from app.frame import Picture


class Source(Protocol):
    """One camera, stream, file or folder.

    Constructing is free; entering opens it (raises `SourceLost` if it can't be opened now, with what to do, and a plain
    `SourceError` if it never can, so that nobody tries again), leaving closes it, twice is safe. A source never
    retries: `capture/feed.py` owns it, decides on the pause and enters it again. Entering again after leaving starts
    afresh.
    """

    def __enter__(self) -> Self:
        """Open it."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it; safe to call twice."""
        ...

    def read(self, timeout_s: float) -> Picture | None:
        """Return the next picture, or None where none came in `timeout_s` seconds.

        Where a library can't be called back sooner it may take its own read time-out; the class says so. A picture that
        came damaged is returned with its `fault` set, never left out and never repaired.

        Raises:
            EndOfStream: it has given its last picture.
            SourceLost: it is gone; close it and open it again.
            SourceError: it can't give pictures at all, e.g. a damaged file.
        """
        ...
