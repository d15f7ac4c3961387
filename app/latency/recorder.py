"""Keeps what the traces measured, by camera and column."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

from app.latency.column import Column, since_start
from app.latency.histogram import Histogram
from app.latency.minute import of_seconds
from app.latency.percentiles import Percentiles
from app.trace import COLUMNS

TOTAL = "total"
"""The column of the whole time from exposure to the last step."""

UNSORTED = 4096
"""Frames that may lie unsorted; where nobody reads, `add` sorts a few of them each time it is called."""
FEW = 2

_KNOWN = frozenset(COLUMNS)


@dataclass(frozen=True, slots=True)
class Row:
    """One column of one camera, in milliseconds.

    Attributes:
        camera: empty for all cameras together.
        exact: the percentiles are samples; else bucket ends, at most 10 % too long, infinite over the limit.
    """

    camera: str
    column: str
    percentiles: Percentiles
    exact: bool


@dataclass(frozen=True, slots=True)
class Tally:
    """One camera's frames and how many of them took longer than their budget."""

    frames: int
    misses: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What was measured so far.

    Attributes:
        rows: by camera, columns in the order of a frame's path, then the total; columns that never ran are left out.
        tallies: by camera.
    """

    rows: tuple[Row, ...]
    tallies: Mapping[str, Tally]


@dataclass(frozen=True, slots=True)
class BudgetCounts:
    """What the budget did since the start.

    Attributes:
        breaches: stages that took longer than their share, by camera and column.
        level_changes: by camera and the level that was changed to.
        levels: the level in effect, by camera.
    """

    breaches: Mapping[tuple[str, str], int]
    level_changes: Mapping[tuple[str, str], int]
    levels: Mapping[str, str]


class _Camera:
    """What is kept of one camera: one column each, however many frames."""

    def __init__(self) -> None:
        self.columns = {name: Column() for name in (*COLUMNS, TOTAL)}
        self.frames = 0
        self.misses = 0


class _Frame(NamedTuple):
    """One frame's times as they were handed over; `budget_ms` is None where only a presentation became known.

    A tuple, because a frozen dataclass takes three times as long to make.
    """

    at_ns: int
    camera: str
    columns_ms: tuple[tuple[str, float | None], ...]
    total_ms: float
    budget_ms: float | None


class Recorder:
    """Takes the times of every frame; safe to call from any thread.

    Taking a frame only puts it on a heap; who reads sorts the heap into columns first. Memory does not grow with the
    frames: each column keeps a bounded number of samples and one histogram.

    Args:
        clock: monotonic, in nanoseconds; says in which window a frame counts.
    """

    def __init__(self, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock = clock
        self._heap: deque[_Frame] = deque()  # its append and popleft are atomic, so that `add` needs no lock
        self._lock = Lock()
        self._cameras: dict[str, _Camera] = {}
        self._breaches: Counter[tuple[str, str]] = Counter()
        self._level_changes: Counter[tuple[str, str]] = Counter()
        self._levels: dict[str, str] = {}

    def add(self, camera: str, columns_ms: Mapping[str, float | None], total_ms: float, budget_ms: float) -> None:
        """Take one frame's times.

        Args:
            camera: the camera's name, never anything that differs from frame to frame.
            columns_ms: of `app.trace.COLUMNS`; None where that column did not run.
            total_ms: from exposure to the end of the last step.
            budget_ms: what the frame was allowed; a longer total is a miss.
        """
        assert columns_ms.keys() <= _KNOWN, columns_ms
        self._put(_Frame(self._clock(), camera, tuple(columns_ms.items()), total_ms, budget_ms))

    def add_shown(self, camera: str, spent_ms: float) -> None:
        """Take the presentation time of a frame that was added before: it is known last, and only of shown results."""
        self._put(_Frame(self._clock(), camera, (("presentation", spent_ms),), 0.0, None))

    def settle(self) -> None:
        """Sort what lies on the heap; once a second, so that there is never much to sort at a time."""
        with self._lock:
            self._sort()

    def count_breach(self, camera: str, column: str) -> None:
        """Count that a stage took longer than its share of the budget; `column` is one of COLUMNS or TOTAL."""
        with self._lock:
            self._breaches[camera, column] += 1

    def set_level(self, camera: str, level: str) -> None:
        """Note the plan's level that is in effect for a camera, one of a few words; another one than before counts."""
        with self._lock:
            before = self._levels.get(camera)
            self._levels[camera] = level
            self._level_changes[camera, level] += before not in (None, level)

    def budget_counts(self) -> BudgetCounts:
        """Return a copy of what the budget did."""
        with self._lock:
            return BudgetCounts(dict(self._breaches), dict(self._level_changes), dict(self._levels))

    def summary(self) -> Summary:
        """Return the percentiles since the start."""
        with self._lock:
            self._sort()
            rows = [
                Row(camera, name, *since_start([column]))
                for camera, kept in self._cameras.items()
                for name, column in kept.columns.items()
            ]
            return Summary(_measured(rows), self._tallies())

    def overall(self) -> tuple[Row, ...]:
        """Return the percentiles since the start of all cameras together, from their samples."""
        with self._lock:
            self._sort()
            return _measured(
                Row("", name, *since_start(kept.columns[name] for kept in self._cameras.values()))
                for name in (*COLUMNS, TOTAL)
            )

    def window(self, window_s: int, column: str | None = None) -> tuple[Row, ...]:
        """Return the rows of the last `window_s` full seconds, 60 at most: of one column, or of each."""
        with self._lock:
            self._sort()
            now_ns = self._clock()
            return _measured(
                Row(camera, name, *of_seconds(samples.minute.window(now_ns, window_s)))
                for camera, kept in self._cameras.items()
                for name, samples in kept.columns.items()
                if column in (None, name)
            )

    def histograms(self) -> dict[tuple[str, str], Histogram]:
        """Return a copy of the histogram of each camera and column."""
        with self._lock:
            self._sort()
            return {
                (camera, name): Histogram.merged([column.histogram])
                for camera, kept in self._cameras.items()
                for name, column in kept.columns.items()
            }

    def tallies(self) -> dict[str, Tally]:
        """Return the frames and misses by camera."""
        with self._lock:
            self._sort()
            return self._tallies()

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _put(self, frame: _Frame) -> None:
        self._heap.append(frame)
        if len(self._heap) > UNSORTED:
            with self._lock:
                self._sort(FEW)

    def _sort(self, most: int | None = None) -> None:
        """Sort the heap, or so many of it, into the columns; the lock is held."""
        left = len(self._heap) if most is None else most
        while self._heap and left:
            left -= 1
            self._take(self._heap.popleft())

    def _take(self, frame: _Frame) -> None:
        kept = self._cameras.setdefault(frame.camera, _Camera())
        if frame.budget_ms is not None:
            kept.frames += 1
            kept.misses += frame.total_ms > frame.budget_ms
            kept.columns[TOTAL].add(frame.total_ms, frame.at_ns)
        for name, spent_ms in frame.columns_ms:
            if spent_ms is not None:
                kept.columns[name].add(spent_ms, frame.at_ns)

    def _tallies(self) -> dict[str, Tally]:
        return {camera: Tally(kept.frames, kept.misses) for camera, kept in self._cameras.items()}


def _measured(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(row for row in rows if row.percentiles.count)
