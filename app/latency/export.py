"""What the recorder holds as Prometheus metrics; the labels are camera and stage, and nothing else ever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from app.latency.histogram import BOUNDS_MS, PER_DECADE, Histogram
from app.latency.recorder import Recorder

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
        """Yield the histogram of stages and the counters of frames and misses."""
        stages = HistogramMetricFamily(
            "taktsight_stage_seconds", "Time of a frame in each stage, and in total", labels=["camera", "stage"]
        )
        for (camera, column), histogram in self._recorder.histograms().items():
            stages.add_metric([camera, column], list(_buckets(histogram)), histogram.total_ms / 1e3)
        yield stages
        frames = CounterMetricFamily("taktsight_frames", "Frames measured", labels=["camera"])
        misses = CounterMetricFamily("taktsight_budget_misses", "Frames over their budget", labels=["camera"])
        for camera, tally in self._recorder.tallies().items():
            frames.add_metric([camera], tally.frames)
            misses.add_metric([camera], tally.misses)
        yield frames
        yield misses


def registry(recorder: Recorder) -> CollectorRegistry:
    """Return a registry of our own, so that nothing of another library is exported."""
    own = CollectorRegistry(auto_describe=False)
    own.register(LatencyCollector(recorder))
    return own


def _buckets(histogram: Histogram) -> Iterator[tuple[str, float]]:
    so_far = list(accumulate(histogram.counts))
    for index in range(_FIRST, len(BOUNDS_MS), _EVERY):
        yield f"{BOUNDS_MS[index] / 1e3:.6g}", so_far[index]
    yield "+Inf", so_far[-1]
