"""Which kept pictures go when there are too many; pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Piece:
    """One picture with all files that belong to it.

    Attributes:
        stem: its path below the folder, without an ending.
        size: bytes of all its files.
        at_s: when it was written, seconds since 1970.
        spare: goes before those that are not.
    """

    stem: str
    size: int
    at_s: float
    spare: bool = False

    @property
    def group(self) -> str:
        """The first folder of its path."""
        return self.stem.partition("/")[0]


class Retention(Protocol):
    """Knows all pieces of one folder."""

    def add(self, piece: Piece) -> None:
        """Take a piece that was written; never older than those before, but for the ones found at the start."""
        ...

    def excess(self, now_s: float, coming: int) -> Iterator[Piece]:
        """Yield, and forget, what has to go so that a piece of so many bytes has its place."""
        ...


class OldestFirst:
    """By bytes, by days, by number: the oldest go, and the spare ones before all others.

    Args:
        max_bytes: of all.
        max_days: of the oldest.
        max_files: pieces.
    """

    def __init__(self, max_bytes: int, max_days: float, max_files: int) -> None:
        self._max_bytes, self._max_s, self._max_files = max_bytes, max_days * DAY_S, max_files
        self._spare: deque[Piece] = deque()
        self._kept: deque[Piece] = deque()
        self.size = 0

    def __len__(self) -> int:
        return len(self._spare) + len(self._kept)

    def add(self, piece: Piece) -> None:
        """See `Retention`."""
        (self._spare if piece.spare else self._kept).append(piece)
        self.size += piece.size

    def excess(self, now_s: float, coming: int) -> Iterator[Piece]:
        """See `Retention`."""
        for line in (self._spare, self._kept):
            while line and now_s - line[0].at_s > self._max_s:
                yield self._take(line)
        while len(self) and (self.size + coming > self._max_bytes or len(self) + 1 > self._max_files):
            yield self._take(self._spare or self._kept)

    def _take(self, line: deque[Piece]) -> Piece:
        piece = line.popleft()
        self.size -= piece.size
        return piece


class Spread:
    """By bytes and number: of the group that has most, the piece goes whose neighbours lie closest in time.

    So what stays is spread over all the time, and not only the last of it.

    Args:
        max_bytes: of all.
        max_files: pieces.
    """

    def __init__(self, max_bytes: int, max_files: int) -> None:
        self._max_bytes, self._max_files = max_bytes, max_files
        self._groups: dict[str, list[Piece]] = {}
        self.size = 0

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    def add(self, piece: Piece) -> None:
        """See `Retention`."""
        self._groups.setdefault(piece.group, []).append(piece)
        self.size += piece.size

    def excess(self, now_s: float, coming: int) -> Iterator[Piece]:
        """See `Retention`."""
        while len(self) and (self.size + coming > self._max_bytes or len(self) + 1 > self._max_files):
            largest = max(self._groups.values(), key=lambda pieces: sum(piece.size for piece in pieces))
            piece = largest.pop(_closest(largest, now_s))
            self.size -= piece.size
            yield piece

    def pieces(self) -> Iterator[Piece]:
        """Yield all that there are."""
        return chain.from_iterable(self._groups.values())


def _closest(pieces: list[Piece], now_s: float) -> int:
    """Return the row, but the first, between whose neighbours the least time lies; now is the last one's neighbour."""
    times = [piece.at_s for piece in pieces] + [now_s]
    return min(range(1, len(pieces)), key=lambda row: times[row + 1] - times[row - 1], default=0)
