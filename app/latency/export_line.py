"""What else there is to see of a running line, as Prometheus metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from app.latency.alert import Alert
from app.latency.batches import Batches
from app.latency.export import LatencyCollector, buckets
from app.latency.gpu import GpuState
from app.latency.gpu_meter import GpuMeter
from app.latency.presentation import Presentation
from app.latency.recorder import Recorder
from app.latency.throttle import Throttle
from app.ledger import Fate, Ledger

SINK_ENDS = ("delivered", "dropped", "refused", "replaced")
"""What becomes of a message; the words of the outbox's counts."""


GPU_GAUGES = (
    ("percent", "taktsight_gpu_utilisation_ratio", 0.01, "Load of the GPU, 0 … 1"),
    ("used_mb", "taktsight_gpu_memory_used_bytes", 1e6, "Memory in use; on a Jetson of the whole board"),
    ("total_mb", "taktsight_gpu_memory_bytes", 1e6, "Memory that there is"),
    ("mhz", "taktsight_gpu_clock_hertz", 1e6, "Clock of the GPU"),
    ("max_mhz", "taktsight_gpu_clock_max_hertz", 1e6, "Highest clock that is allowed now"),
    ("celsius", "taktsight_gpu_temperature_celsius", 1.0, "Temperature of the GPU"),
)
"""What is exported of each GPU: the attribute, the metric, its factor, its text."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Where the metrics come from; read when they are scraped.

    Attributes:
        budgets_ms: what a frame is allowed, of the cameras whose frames can be late.
        online: by camera.
        sinks: the counts of each sink of the outbox, by name: `SINK_ENDS` and `waiting`.
        oldest_s: how long the oldest message has waited for the broker.
        alerts: by camera (empty for the whole line) and what is watched.
        build: names and versions, as labels of one metric.
        log_dropped: lines of the log that were dropped.
        previews: of each camera that may be watched, how many watch it and how many pictures they were sent.
        trials: pictures chosen for candidates, by camera, candidate and what they came to.
    """

    recorder: Recorder
    presentation: Presentation
    ledger: Ledger
    budgets_ms: Mapping[str, float]
    online: Mapping[str, bool]
    sinks: Callable[[], Mapping[str, Mapping[str, int]]]
    oldest_s: Callable[[], float]
    gpu: GpuMeter
    throttle: Throttle
    batches: Batches
    alerts: Callable[[], Mapping[tuple[str, str], Alert]]
    build: Mapping[str, str]
    log_dropped: Callable[[], int] = lambda: 0
    previews: Callable[[], Mapping[str, tuple[int, int]]] = dict
    trials: Callable[[], Mapping[tuple[str, str, str], int]] = dict


class LineCollector(Collector):
    """Reads the facts when it is scraped; the number of series depends on the configuration and the machine alone."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def collect(self) -> Iterable[Metric]:
        """Yield everything that the recorder does not hold."""
        build = self._facts.build
        info = GaugeMetricFamily("taktsight_build_info", "What runs", labels=list(build))
        info.add_metric(list(build.values()), 1)
        yield info
        allowed = GaugeMetricFamily("taktsight_budget_seconds", "What a frame is allowed in all", labels=["camera"])
        for camera, budget_ms in dict(self._facts.budgets_ms).items():
            allowed.add_metric([camera], budget_ms / 1e3)
        yield allowed
        yield from _frames(self._facts.ledger)
        yield from _outbox(self._facts)
        online = GaugeMetricFamily("taktsight_camera_online", "1 for a camera that gives pictures", labels=["camera"])
        for camera, is_online in dict(self._facts.online).items():
            online.add_metric([camera], float(is_online))
        yield online
        yield from _subscribers(self._facts.presentation, self._facts.ledger.cameras)
        yield from _previews(self._facts.previews())
        yield from _trials(self._facts.trials())
        yield CounterMetricFamily(
            "taktsight_log_dropped", "Lines of the log that were dropped", value=self._facts.log_dropped()
        )
        yield from _load(self._facts)
        yield from _alerts(self._facts.alerts())


def registry(facts: Facts) -> CollectorRegistry:
    """Return a registry of our own, so that nothing of another library is exported."""
    own = CollectorRegistry(auto_describe=False)
    own.register(LatencyCollector(facts.recorder))
    own.register(LineCollector(facts))
    return own


def _frames(ledger: Ledger) -> Iterator[Metric]:
    captured = CounterMetricFamily("taktsight_frames_captured", "Frames captured", labels=["camera"])
    ended = CounterMetricFamily("taktsight_frames", "Frames by how they ended", labels=["camera", "fate"])
    waiting = GaugeMetricFamily("taktsight_frames_waiting", "Frames on their way", labels=["camera"])
    for camera in ledger.cameras:
        counts = ledger.counts(camera)
        captured.add_metric([camera], counts.captured)
        for fate in Fate:
            ended.add_metric([camera, fate.value], getattr(counts, fate.value))
        waiting.add_metric([camera], counts.waiting)
    yield from (captured, ended, waiting)


def _outbox(facts: Facts) -> Iterator[Metric]:
    ended = CounterMetricFamily("taktsight_outbox_messages", "Messages by how they ended", labels=["sink", "end"])
    waiting = GaugeMetricFamily("taktsight_outbox_waiting", "Messages that wait", labels=["sink"])
    for sink, counts in facts.sinks().items():
        for end in SINK_ENDS:
            ended.add_metric([sink, end], counts[end])
        waiting.add_metric([sink], counts["waiting"])
    yield from (ended, waiting)
    oldest = GaugeMetricFamily("taktsight_outbox_oldest_seconds", "Age of the oldest message that waits for the broker")
    oldest.add_metric([], facts.oldest_s())
    yield oldest


def _subscribers(presentation: Presentation, cameras: Iterable[str]) -> Iterator[Metric]:
    """Yield the times of all subscribers together: their names come from outside, and are no labels."""
    spent = HistogramMetricFamily(
        "taktsight_subscriber_seconds",
        "Round trip to the subscribers: the network there and back, and their own hold",
        labels=["camera", "part"],
    )
    for (camera, part), histogram in presentation.histograms().items():
        spent.add_metric([camera, part], list(buckets(histogram)), histogram.total_ms / 1e3)
    yield spent
    count = GaugeMetricFamily("taktsight_subscribers", "Subscribers that acknowledge, last minute", labels=["camera"])
    slowest = GaugeMetricFamily(
        "taktsight_slowest_subscriber_seconds", "p90 of the slowest subscriber, last minute", labels=["camera", "part"]
    )
    for camera in cameras:
        rows = presentation.rows(camera)
        count.add_metric([camera], len(rows))
        for row in rows[:1]:
            slowest.add_metric([camera, "network"], row.network.p90 / 1e3)
            slowest.add_metric([camera, "hold"], row.hold.p90 / 1e3)
    yield from (count, slowest)


def _previews(previews: Mapping[str, tuple[int, int]]) -> Iterator[Metric]:
    watchers = GaugeMetricFamily("taktsight_preview_watchers", "Who watches previews now", labels=["camera"])
    sent = CounterMetricFamily("taktsight_previews", "Previews sent, over all watchers", labels=["camera"])
    for camera, (watching, pictures) in previews.items():
        watchers.add_metric([camera], watching)
        sent.add_metric([camera], pictures)
    yield from (watchers, sent)


def _trials(trials: Mapping[tuple[str, str, str], int]) -> Iterator[Metric]:
    text = "Pictures chosen for a candidate, by what they came to"
    family = CounterMetricFamily("taktsight_shadow_pictures", text, labels=["camera", "candidate", "end"])
    for labels, count in trials.items():
        family.add_metric(list(labels), count)
    yield family


def _load(facts: Facts) -> Iterator[Metric]:
    yield from _gpus(facts.gpu.states)
    throttled = GaugeMetricFamily(
        "taktsight_throttled", "1 for a part whose clock is held back, or was within five seconds", labels=["part"]
    )
    for part, is_held in facts.throttle.parts().items():
        throttled.add_metric([part], float(is_held))
    yield throttled
    batches = GaugeMetricFamily(
        "taktsight_batch_efficiency_ratio", "Places of batches with a picture, last minute", labels=["model"]
    )
    for model, percent in facts.batches.percent.items():
        batches.add_metric([model], percent / 100)
    yield batches


def _gpus(states: Mapping[str, GpuState]) -> Iterator[Metric]:
    """Yield what is known of each GPU; a series ends where the GPU does not tell any more."""
    for key, name, factor, text in GPU_GAUGES:
        gauge = GaugeMetricFamily(name, text, labels=["gpu"])
        for gpu, state in states.items():
            if (value := getattr(state, key)) is not None:
                gauge.add_metric([gpu], value * factor)
        yield gauge
    reasons = GaugeMetricFamily("taktsight_gpu_throttle", "1 for what holds a GPU back now", labels=["gpu", "reason"])
    for gpu, state in states.items():
        for reason in state.throttle:
            reasons.add_metric([gpu, reason], 1)
    yield reasons


def _alerts(alerts: Mapping[tuple[str, str], Alert]) -> Iterator[Metric]:
    active = GaugeMetricFamily("taktsight_alert_active", "1 for an alert that is raised", labels=["camera", "alert"])
    raised = CounterMetricFamily("taktsight_alerts", "Times that an alert was raised", labels=["camera", "alert"])
    for (camera, name), alert in alerts.items():
        active.add_metric([camera, name], float(alert.is_raised))
        raised.add_metric([camera, name], alert.raised)
    yield from (active, raised)
