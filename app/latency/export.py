"""What the recorder holds as Prometheus metrics; labels are names of the configuration and fixed words only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from app.latency.histogram import BOUNDS_MS, PER_DECADE, Histogram
from app.latency.recorder import BudgetCounts, Recorder

_EVERY = 2
"""So many of the recorder's buckets are one of the export; ends 19.4 % apart, so that 3 ms is 3 ms ± 20 %."""

_FIRST = PER_DECADE
"""The export's first bucket ends at 0.1 ms; what is shorter needs no telling apart, and each bucket is a series."""


class LatencyCollector(Collector):
    """Reads the recorder when it is scraped, so that a frame costs nothing here.

    The number of series depends on the cameras alone: a trace id, part or track is never a label.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def collect(self) -> Iterable[Metric]:
        """Yield the histogram of stages and the counters of results, misses and what the budget did."""
        stages = HistogramMetricFamily(
            "taktsight_stage_seconds", "Time of a result in each stage, and in total", labels=["camera", "stage"]
        )
        for (camera, column), histogram in self._recorder.histograms().items():
            stages.add_metric([camera, column], list(buckets(histogram)), histogram.total_ms / 1e3)
        yield stages
        results = CounterMetricFamily("taktsight_results", "Results that were delivered", labels=["camera"])
        misses = CounterMetricFamily("taktsight_budget_misses", "Results over their budget", labels=["camera"])
        for camera, tally in self._recorder.tallies().items():
            results.add_metric([camera], tally.frames)
            misses.add_metric([camera], tally.misses)
        yield results
        yield misses
        yield from _budget(self._recorder.budget_counts())


def _budget(counts: BudgetCounts) -> Iterator[Metric]:
    breaches = CounterMetricFamily(
        "taktsight_stage_breaches", "Times that a stage took longer than its share", labels=["camera", "stage"]
    )
    for (camera, column), count in counts.breaches.items():
        breaches.add_metric([camera, column], count)
    yield breaches
    changes = CounterMetricFamily(
        "taktsight_level_changes",
        "Changes of the budget's plan, by the level that followed",
        labels=["camera", "level"],
    )
    for (camera, level), count in counts.level_changes.items():
        changes.add_metric([camera, level], count)
    yield changes
    levels = GaugeMetricFamily("taktsight_level", "1 for the level in effect", labels=["camera", "level"])
    seen = {*counts.levels.items(), *counts.level_changes}
    for camera, level in sorted(seen):
        levels.add_metric([camera, level], float(counts.levels[camera] == level))
    yield levels


def buckets(histogram: Histogram) -> Iterator[tuple[str, float]]:
    """Yield the upper end in seconds of each bucket of the export, and how many samples are not longer."""
    so_far = list(accumulate(histogram.counts))
    for index in range(_FIRST, len(BOUNDS_MS), _EVERY):
        yield f"{BOUNDS_MS[index] / 1e3:.6g}", so_far[index]
    yield "+Inf", so_far[-1]
