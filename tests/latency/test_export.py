"""The recorder as Prometheus metrics."""

import math

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from app.latency.export import registry
from app.latency.recorder import Recorder
from app.trace import COLUMNS, Trace


def samples(own):
    text = generate_latest(own).decode()
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def test_met_01_a_hundred_thousand_trace_ids_make_no_new_series():
    recorder = Recorder()
    own = registry(recorder)
    trace = Trace("first", 0)
    trace.add("judge", 0, 2_000_000)
    recorder.add("left", trace.columns_ms(), trace.total_ms, 100)
    series = {(sample.name, *sample.labels.items()) for sample in samples(own)}
    for n in range(100_000):
        recorder.add("left", {"postprocess": 2.0, "wait": None}, 2.0 + n % 7, 100)
    after = samples(own)
    assert {(sample.name, *sample.labels.items()) for sample in after} == series
    assert {label for sample in after for label in sample.labels} == {"camera", "stage", "le"}


def test_met_04_buckets_counts_and_sums_agree():
    recorder = Recorder()
    for ms in (3.0, 3.0, 30_000.0):
        recorder.add("left", {"inference": ms}, ms, 100)
    found = {
        (sample.name, sample.labels.get("le")): sample.value
        for sample in samples(registry(recorder))
        if sample.labels.get("stage") in (None, "inference")
    }
    ends = sorted(float(le) for name, le in found if name.endswith("_bucket"))
    above = min(end for end in ends if end >= 0.003)
    below = max(end for end in ends if end < 0.003)
    assert above / below < 1.2
    buckets = {float(le): value for (name, le), value in found.items() if name.endswith("_bucket")}
    assert (buckets[below], buckets[above], buckets[10], buckets[math.inf]) == (0, 2, 2, 3)
    assert found["taktsight_stage_seconds_count", None] == 3
    assert found["taktsight_stage_seconds_sum", None] == 30.006
    assert found["taktsight_frames_total", None] == 3
    assert found["taktsight_budget_misses_total", None] == 1


def test_all_columns_are_stages():
    recorder = Recorder()
    recorder.add("left", {}, 1.0, 100)
    stages = {sample.labels["stage"] for sample in samples(registry(recorder)) if "stage" in sample.labels}
    assert stages == {*COLUMNS, "total"}
