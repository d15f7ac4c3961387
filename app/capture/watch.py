"""New files in a folder, each given once and only when it is complete."""

from __future__ import annotations

import time
from collections.abc import Set as AbstractSet
from pathlib import Path
from time import monotonic_ns

from app.capture.endings import reaches_its_end
from app.capture.listing import pictures_in
from app.errors import SourceLost

POLL_S = 0.1
SETTLED_NS = 1_000_000_000
"""A file without an end marker that has not grown for so long is taken as it is."""


class Arrivals:
    """The complete files of a folder that were not given before; polled, so that network shares work too.

    A file counts once: writing it again under the same name gives no second picture, removing it first does.
    """

    def __init__(self, folder: Path, suffixes: AbstractSet[str]) -> None:
        self._folder = folder
        self._suffixes = suffixes
        self._given: set[Path] = set()
        self._growing: dict[Path, tuple[int, int]] = {}

    def wait(self, timeout_s: float) -> list[Path]:
        """Return the files that are complete now, in natural order; empty where none came in `timeout_s` seconds.

        Raises:
            SourceLost: the folder is gone.
        """
        deadline_ns = monotonic_ns() + round(timeout_s * 1e9)
        while not (found := self._complete()):
            left_s = (deadline_ns - monotonic_ns()) / 1e9
            if left_s <= 0:
                break
            time.sleep(min(POLL_S, left_s))
        return found

    def _complete(self) -> list[Path]:
        """Look once."""
        try:
            there = pictures_in(self._folder, self._suffixes)
        except OSError as error:
            raise SourceLost(f"{self._folder}: the watched folder is gone: {error.strerror}") from error
        self._given.intersection_update(there)
        found = [path for path in there if path not in self._given and self._is_complete(path)]
        self._given.update(found)
        return found

    def _is_complete(self, path: Path) -> bool:
        """Whether the file has its end marker, or has stopped growing."""
        try:
            data = path.read_bytes()
        except FileNotFoundError:  # renamed or removed since it was listed
            return False
        except OSError:
            return True  # it can't be read: that is a picture with a fault, not nothing
        now_ns = monotonic_ns()
        size, since_ns = self._growing.get(path, (-1, now_ns))
        if reaches_its_end(data) or (size == len(data) and now_ns - since_ns >= SETTLED_NS):
            self._growing.pop(path, None)
            return True
        if size != len(data):
            self._growing[path] = (len(data), now_ns)
        return False
