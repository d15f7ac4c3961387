"""Keeps what the traces measured, by camera and column."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Lock

from app.latency.histogram import Histogram
from app.latency.percentiles import Percentiles, percentiles
from app.trace import COLUMNS

TOTAL = "total"
"""The column of the whole time from exposure to the last step."""

EXACT_SAMPLES = 10_000
"""Samples of a column kept one by one; from the next one on its percentiles come from the buckets."""


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
        overall: the same of all cameras together, from their samples.
        tallies: by camera.
    """

    rows: tuple[Row, ...]
    overall: tuple[Row, ...]
    tallies: Mapping[str, Tally]


class _Column:
    """The samples of one column of one camera."""

    def __init__(self) -> None:
        self.samples_ms = array("d")
        self.histogram = Histogram()

    def add(self, sample_ms: float) -> None:
        before = self.histogram.refused
        self.histogram.add(sample_ms)
        if self.histogram.refused == before and len(self.samples_ms) < EXACT_SAMPLES:
            self.samples_ms.append(sample_ms)


class _Camera:
    """What is kept of one camera: one column each, however many frames."""

    def __init__(self) -> None:
        self.columns = {name: _Column() for name in (*COLUMNS, TOTAL)}
        self.frames = 0
        self.misses = 0


class Recorder:
    """Takes the times of every frame; safe to call from any thread.

    Memory does not grow with the frames: each column keeps `EXACT_SAMPLES` samples and one histogram.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._cameras: dict[str, _Camera] = {}

    def add(self, camera: str, columns_ms: Mapping[str, float | None], total_ms: float, budget_ms: float) -> None:
        """Take one frame's times.

        Args:
            camera: the camera's name, never anything that differs from frame to frame.
            columns_ms: of `app.trace.COLUMNS`; None where that column did not run.
            total_ms: from exposure to the end of the last step.
            budget_ms: what the frame was allowed; a longer total is a miss.
        """
        with self._lock:
            kept = self._cameras.setdefault(camera, _Camera())
            kept.frames += 1
            kept.misses += total_ms > budget_ms
            kept.columns[TOTAL].add(total_ms)
            for name, spent_ms in columns_ms.items():
                if spent_ms is not None:
                    kept.columns[name].add(spent_ms)

    def add_shown(self, camera: str, spent_ms: float) -> None:
        """Take the presentation time of a frame that was added before: it is known last, and only of shown results."""
        with self._lock:
            self._cameras.setdefault(camera, _Camera()).columns["presentation"].add(spent_ms)

    def summary(self) -> Summary:
        """Return the percentiles as they stand."""
        with self._lock:
            rows = [
                _row(camera, name, [column])
                for camera, kept in self._cameras.items()
                for name, column in kept.columns.items()
            ]
            overall = [
                _row("", name, [kept.columns[name] for kept in self._cameras.values()]) for name in (*COLUMNS, TOTAL)
            ]
            tallies = {camera: Tally(kept.frames, kept.misses) for camera, kept in self._cameras.items()}
        return Summary(_measured(rows), _measured(overall), tallies)

    def histograms(self) -> dict[tuple[str, str], Histogram]:
        """Return a copy of the histogram of each camera and column."""
        with self._lock:
            return {
                (camera, name): Histogram.merged([column.histogram])
                for camera, kept in self._cameras.items()
                for name, column in kept.columns.items()
            }

    def tallies(self) -> dict[str, Tally]:
        """Return the frames and misses by camera."""
        with self._lock:
            return {camera: Tally(kept.frames, kept.misses) for camera, kept in self._cameras.items()}


def _row(camera: str, name: str, columns: list[_Column]) -> Row:
    exact = all(column.histogram.count == len(column.samples_ms) for column in columns)
    if exact:
        return Row(camera, name, percentiles(*(column.samples_ms for column in columns)), exact)
    return Row(camera, name, Histogram.merged(column.histogram for column in columns).percentiles(), exact)


def _measured(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(row for row in rows if row.percentiles.count)
