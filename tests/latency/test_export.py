"""The line as Prometheus metrics."""

import math
from dataclasses import replace
from functools import partial

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from app.config.sections import Alerts
from app.latency.alarms import Alarms
from app.latency.batches import Batches
from app.latency.export_line import Facts, registry
from app.latency.gpu import GpuState
from app.latency.gpu_meter import GpuMeter
from app.latency.presentation import Presentation
from app.latency.recorder import Recorder
from app.latency.throttle import CpuThrottle, Throttle
from app.ledger import Fate, Ledger
from app.trace import COLUMNS, Trace

SINK = {"put": 9, "delivered": 4, "dropped": 3, "refused": 1, "replaced": 1, "waiting": 0}


@pytest.fixture
def facts(clock, tmp_path):
    """A line with two cameras and one sink, on which nothing has happened yet."""
    recorder, batches, gpu = Recorder(clock), Batches(), GpuMeter(None)
    limits = {"left": 100.0, "right": 100.0}
    return Facts(
        recorder=recorder,
        presentation=Presentation(clock),
        ledger=Ledger(["left", "right"]),
        budgets_ms=limits,
        online={"left": True, "right": False},
        sinks=lambda: {"mqtt": SINK},
        oldest_s=lambda: 1.5,
        gpu=gpu,
        throttle=Throttle(CpuThrottle(tmp_path), lambda: gpu.states, clock),
        batches=batches,
        alerts=partial(
            getattr,
            Alarms(Alerts(), limits, recorder=recorder, gpu=gpu, batches=batches, tell=lambda *_: None, clock=clock),
            "alerts",
        ),
        build={"version": "1.2", "line": "Linie 1", "config": "abc"},
    )


def samples(facts):
    text = generate_latest(registry(facts)).decode()
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def values(facts, name, *labels):
    """Return a metric's values by those labels, the only one of one label by its bare value."""
    found = {
        tuple(sample.labels[label] for label in labels): sample.value
        for sample in samples(facts)
        if sample.name == name
    }
    return {key[0] if len(key) == 1 else key: value for key, value in found.items()}


def test_met_01_a_hundred_thousand_trace_ids_and_client_names_make_no_new_series(facts):
    trace = Trace("first", 0)
    trace.add("judge", 0, 2_000_000)
    facts.recorder.add("left", trace.columns_ms(), trace.total_ms, 100)
    facts.presentation.add("left", "panel", 9.0, 4.0)
    series = {(sample.name, *sample.labels.items()) for sample in samples(facts)}
    for n in range(100_000):
        facts.recorder.add("left", {"postprocess": 2.0, "wait": None}, 2.0 + n % 7, 100)
    for n in range(2000):
        facts.presentation.add("left", f"client {n}", 9.0, 4.0)
    after = samples(facts)
    assert {(sample.name, *sample.labels.items()) for sample in after} == series
    words = {"stage", "le", "fate", "sink", "end", "part", "alert", "version", "line", "config"}
    assert {label for sample in after for label in sample.labels} == {"camera", *words}


def test_met_04_buckets_counts_and_sums_agree(facts):
    for ms in (3.0, 3.0, 30_000.0):
        facts.recorder.add("left", {"inference": ms}, ms, 100)
    found = values(facts, "taktsight_stage_seconds_bucket", "stage", "le")
    buckets = {float(end): count for (stage, end), count in found.items() if stage == "inference"}
    above = min(end for end in buckets if end >= 0.003)
    below = max(end for end in buckets if end < 0.003)
    assert (buckets[below], buckets[above], buckets[10], buckets[math.inf]) == (0, 2, 2, 3)
    assert values(facts, "taktsight_stage_seconds_count", "stage")["inference"] == 3
    assert values(facts, "taktsight_stage_seconds_sum", "stage")["inference"] == 30.006
    assert values(facts, "taktsight_results_total", "camera") == {"left": 3}
    assert values(facts, "taktsight_budget_misses_total", "camera") == {"left": 1}


def quantile(buckets, share):
    """Return what PromQL's histogram_quantile makes of cumulative buckets: a straight line within the bucket."""
    ends = sorted(buckets)
    wanted = share * buckets[math.inf]
    upper = next(end for end in ends if buckets[end] >= wanted)
    lower = max((end for end in ends if end < upper), default=0.0)
    before = buckets.get(lower, 0)
    return lower + (upper - lower) * (wanted - before) / (buckets[upper] - before)


@pytest.mark.parametrize("ms", [0.11, 0.3, 1.0, 3.0, 17.0, 99.9, 250.0, 9000.0])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_met_04_a_time_is_shown_by_prometheus_within_a_fifth_of_it(facts, ms, share):
    for _ in range(200):
        facts.recorder.add("left", {}, ms, 100)
    found = values(facts, "taktsight_stage_seconds_bucket", "stage", "le")
    buckets = {float(end): count for (stage, end), count in found.items() if stage == "total"}
    assert quantile(buckets, share) * 1e3 == pytest.approx(ms, rel=0.2)


def test_all_columns_are_stages(facts):
    facts.recorder.add("left", {}, 1.0, 100)
    assert set(values(facts, "taktsight_stage_seconds_count", "stage")) == {*COLUMNS, "total"}


def test_frames_are_counted_by_how_they_ended(facts):
    for seq in range(3):
        facts.ledger.capture("left", seq)
    facts.ledger.settle("left", 0, Fate.JUDGED)
    facts.ledger.settle("left", 1, Fate.LATE)
    assert values(facts, "taktsight_frames_captured_total", "camera") == {"left": 3, "right": 0}
    ended = values(facts, "taktsight_frames_total", "camera", "fate")
    assert ended["left", "judged"] == ended["left", "late"] == 1
    assert {fate for _, fate in ended} == {fate.value for fate in Fate}
    waiting = values(facts, "taktsight_frames_waiting", "camera")
    assert waiting == {"left": 1, "right": 0}
    captured = values(facts, "taktsight_frames_captured_total", "camera")
    assert captured["left"] == waiting["left"] + sum(count for (camera, _), count in ended.items() if camera == "left")


def test_the_budget_the_outbox_and_the_cameras_are_there(facts):
    for level in ("full", "no_refine"):
        facts.recorder.set_level("left", level)
    facts.recorder.count_breach("left", "inference")
    assert values(facts, "taktsight_budget_seconds", "camera") == {"left": 0.1, "right": 0.1}
    assert values(facts, "taktsight_level", "camera", "level") == {("left", "full"): 0, ("left", "no_refine"): 1}
    assert values(facts, "taktsight_level_changes_total", "level") == {"full": 0, "no_refine": 1}
    assert values(facts, "taktsight_stage_breaches_total", "camera", "stage") == {("left", "inference"): 1}
    ends = values(facts, "taktsight_outbox_messages_total", "sink", "end")
    assert ends == {("mqtt", end): SINK[end] for end in ("delivered", "dropped", "refused", "replaced")}
    assert values(facts, "taktsight_outbox_waiting", "sink") == {"mqtt": 0}
    assert values(facts, "taktsight_outbox_oldest_seconds") == {(): 1.5}
    assert values(facts, "taktsight_camera_online", "camera") == {"left": 1, "right": 0}
    assert values(facts, "taktsight_build_info", "version", "line", "config") == {("1.2", "Linie 1", "abc"): 1}


def test_subscribers_are_shown_together_and_the_slowest_without_its_name(facts, clock):
    facts.presentation.add("left", "panel", 9.0, 4.0)
    facts.presentation.add("left", "old tablet", 310.0, 300.0)
    clock.advance(1)
    assert values(facts, "taktsight_subscribers", "camera") == {"left": 2, "right": 0}
    slowest = values(facts, "taktsight_slowest_subscriber_seconds", "camera", "part")
    assert slowest == {("left", "network"): 0.01, ("left", "hold"): 0.3}
    assert values(facts, "taktsight_subscriber_seconds_count", "part") == {"network": 2, "hold": 2}


def test_load_is_there_only_where_there_is_a_gpu(facts):
    assert values(facts, "taktsight_gpu_utilisation_ratio", "gpu") == {}
    assert values(facts, "taktsight_batch_efficiency_ratio", "model") == {}
    facts.gpu.states = {"0": GpuState(percent=37.0)}
    facts.batches.add("covers", 1, 4)
    facts.batches.turn()
    assert values(facts, "taktsight_gpu_utilisation_ratio", "gpu") == {"0": 0.37}
    assert values(facts, "taktsight_batch_efficiency_ratio", "model") == {"covers": 0.25}


def test_a_gpu_is_exported_with_what_it_tells_and_a_throttle_with_its_reason(facts, clock):
    cold = GpuState(percent=10.0, mhz=1300.0, celsius=61.0)
    hot = GpuState(used_mb=512.0, total_mb=8000.0, max_mhz=1300.0, celsius=97.5, throttle=("thermal", "power_cap"))
    facts.gpu.states = {"0": cold, "1": hot}
    facts.throttle.look()
    assert values(facts, "taktsight_gpu_clock_hertz", "gpu") == {"0": 1.3e9}
    assert values(facts, "taktsight_gpu_memory_used_bytes", "gpu") == {"1": 512e6}
    assert values(facts, "taktsight_gpu_temperature_celsius", "gpu") == {"0": 61.0, "1": 97.5}
    assert values(facts, "taktsight_gpu_throttle", "gpu", "reason") == {("1", "thermal"): 1, ("1", "power_cap"): 1}
    assert values(facts, "taktsight_throttled", "part") == {"cpu": 0, "gpu 0": 0, "gpu 1": 1}
    facts.gpu.states = {"0": cold, "1": cold}
    clock.advance(6)
    facts.throttle.look()
    assert values(facts, "taktsight_gpu_throttle", "gpu", "reason") == {}
    assert values(facts, "taktsight_throttled", "part") == {"cpu": 0, "gpu 0": 0, "gpu 1": 0}


def test_alerts_are_counted(facts):
    facts.alerts()["left", "p99_ms"].see(150.0, 0)
    assert values(facts, "taktsight_alert_active", "camera", "alert")["left", "p99_ms"] == 1
    assert values(facts, "taktsight_alerts_total", "camera", "alert") == {
        ("left", "p99_ms"): 1, ("right", "p99_ms"): 0, ("", "gpu_percent"): 0, ("", "batch_percent"): 0
    }  # fmt: skip


def test_what_came_of_pictures_for_a_candidate_is_counted(facts):
    facts = replace(facts, trials=lambda: {("left", "new", "same"): 7, ("left", "new", "different"): 2})
    counts = values(facts, "taktsight_shadow_pictures_total", "camera", "candidate", "end")
    assert counts == {("left", "new", "same"): 7, ("left", "new", "different"): 2}
