"""New files in a folder, each given once and only when it is complete."""

from __future__ import annotations

import time
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from time import monotonic_ns

from app.capture.endings import reaches_its_end
from app.capture.listing import pictures_in
from app.errors import SourceLost

POLL_S = 0.1
"""How often the folder is listed in any case."""
GLANCE_S = 0.005
"""How often it is asked whether anything has changed, which costs a few microseconds."""
FRESH_NS = 20_000_000
"""A folder's time stamp does not tell two changes apart that are closer than a tick of the system's clock."""
SETTLED_NS = 1_000_000_000
"""A file without an end marker that has not grown for so long is taken as it is."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A complete file.

    Attributes:
        written_ns: when it was last written to, on `time.monotonic_ns`; when it was found, where that can't be told.
    """

    path: Path
    written_ns: int


class Arrivals:
    """The complete files of a folder that were not given before; polled, so that network shares work too.

    A file counts once: writing it again under the same name gives no second picture, removing it first does.
    """

    def __init__(self, folder: Path, suffixes: AbstractSet[str]) -> None:
        self._folder = folder
        self._suffixes = suffixes
        self._given: set[Path] = set()
        self._growing: dict[Path, tuple[int, int]] = {}
        self._looked_ns: int | None = None
        self._stamp_ns = 0

    def wait(self, timeout_s: float) -> list[Arrival]:
        """Return the files that are complete now, in natural order; empty where none came in `timeout_s` seconds.

        Raises:
            SourceLost: the folder is gone.
        """
        deadline_ns = monotonic_ns() + round(timeout_s * 1e9)
        while not (found := self._complete()):
            left_s = (deadline_ns - monotonic_ns()) / 1e9
            if left_s <= 0:
                break
            self._wait_for_change(min(POLL_S, left_s))
        return found

    def _wait_for_change(self, timeout_s: float) -> None:
        """Return as soon as there may be something new; files that grow don't change their folder."""
        until_ns = monotonic_ns() + round(timeout_s * 1e9)
        while True:
            time.sleep(min(GLANCE_S, max(0.0, (until_ns - monotonic_ns()) / 1e9)))
            is_fresh = 0 <= time.time_ns() - self._stamp_ns < FRESH_NS
            if monotonic_ns() >= until_ns or self._growing or is_fresh or self._changed_ns() != self._stamp_ns:
                return

    def _changed_ns(self) -> int:
        """Return the folder's own time stamp, by the clock of whoever keeps it."""
        try:
            return self._folder.stat().st_mtime_ns
        except OSError:
            return 0  # the next listing says what is wrong

    def _complete(self) -> list[Arrival]:
        """Look once."""
        before_ns, self._looked_ns = self._looked_ns, monotonic_ns()
        self._stamp_ns = self._changed_ns()
        try:
            there = pictures_in(self._folder, self._suffixes)
        except OSError as error:
            raise SourceLost(f"{self._folder}: the watched folder is gone: {error.strerror}") from error
        self._given.intersection_update(there)
        found = [path for path in there if path not in self._given and self._is_complete(path)]
        self._given.update(found)
        return [Arrival(path, _written_ns(path, before_ns)) for path in found]

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


def _written_ns(path: Path, looked_ns: int | None) -> int:
    """Return when a file was last written to: after the last look, which did not find it complete, and before now.

    A network share dates its files by a clock of its own, so no more than that is believed. What was there at the first
    look may have been there for days; it counts from now.
    """
    now_ns = monotonic_ns()
    try:
        age_ns = time.time_ns() - path.stat().st_mtime_ns
    except OSError:
        return now_ns
    return now_ns if looked_ns is None else min(max(now_ns - age_ns, looked_ns), now_ns)
