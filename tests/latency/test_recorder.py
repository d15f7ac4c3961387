"""What the traces measured, by camera and column."""

from threading import Thread

import pytest

from app.latency import column as module
from app.latency.recorder import Recorder
from app.trace import COLUMNS


def row(rows, camera, column):
    return next(row for row in rows if (row.camera, row.column) == (camera, column))


def test_columns_and_totals_are_kept_by_camera():
    recorder = Recorder()
    for ms in range(1, 101):
        recorder.add("left", {"inference": float(ms), "network": None}, total_ms=ms + 10.0, budget_ms=100)
    recorder.add("right", {"inference": 500.0}, total_ms=501.0, budget_ms=100)
    summary = recorder.summary()
    inference = row(summary.rows, "left", "inference")
    assert (inference.percentiles.count, inference.percentiles.p95, inference.percentiles.max) == (100, 95, 100)
    assert inference.exact
    assert row(summary.rows, "left", "total").percentiles.p50 == 60
    assert summary.tallies["left"].misses == 10
    assert summary.tallies["right"].misses == 1
    assert [r.column for r in summary.rows if r.camera == "left"] == ["inference", "total"]


def test_met_03_all_cameras_together_are_their_samples_together():
    recorder = Recorder()
    for _ in range(990):
        recorder.add("a", {}, 1.0, 100)
    for _ in range(10):
        recorder.add("b", {}, 1000.0, 100)
    assert row(recorder.overall(), "", "total").percentiles.p99 == 1.0


def test_every_column_of_the_trace_is_taken():
    recorder = Recorder()
    recorder.add("a", dict.fromkeys(COLUMNS, 2.0), 14.0, 100)
    assert [r.column for r in recorder.summary().rows] == [*COLUMNS, "total"]
    assert [r.column for r in recorder.overall()] == [*COLUMNS, "total"]


def test_met_01_memory_is_bounded_and_percentiles_go_on_from_the_buckets(monkeypatch):
    monkeypatch.setattr(module, "EXACT_SAMPLES", 100)
    recorder = Recorder()
    for ms in range(1, 1001):
        recorder.add("a", {}, float(ms), 1e9)
    total = row(recorder.summary().rows, "a", "total")
    assert not total.exact
    assert total.percentiles.count == 1000
    assert total.percentiles.p50 == pytest.approx(500, rel=0.101)
    assert total.percentiles.max == 1000
    assert len(recorder._cameras["a"].columns["total"].samples_ms) == 100


def test_a_time_that_is_none_does_not_hide_among_the_samples():
    recorder = Recorder()
    recorder.add("a", {}, float("nan"), 100)
    recorder.add("a", {}, 5.0, 100)
    total = row(recorder.summary().rows, "a", "total")
    assert total.percentiles.count == 1
    assert total.exact


def test_threads_lose_no_frame():
    recorder = Recorder()

    def work():
        for _ in range(2000):
            recorder.add("a", {"wait": 1.0}, 2.0, 1.0)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorder.summary().tallies["a"].frames == 8000
    assert recorder.tallies()["a"].misses == 8000
    assert row(recorder.summary().rows, "a", "wait").percentiles.count == 8000


def test_windows_slide_and_the_start_stays(clock):
    recorder = Recorder(clock)
    for second in range(70):
        recorder.add("a", {"inference": float(second)}, second + 1.0, 100)
        recorder.add("b", {}, 5.0, 100)
        clock.advance(1)
    last_ten = row(recorder.window(10), "a", "inference").percentiles
    assert (last_ten.count, last_ten.p50, last_ten.max) == (10, 64, 69)
    last_minute = row(recorder.window(60, "total"), "a", "total").percentiles
    assert (last_minute.count, last_minute.p50, last_minute.max) == (60, 40, 70)
    assert row(recorder.summary().rows, "a", "total").percentiles.count == 70
    assert {(found.camera, found.column) for found in recorder.window(60, "total")} == {("a", "total"), ("b", "total")}
    clock.advance(61)
    assert recorder.window(60) == ()


def test_a_presentation_is_known_later_and_is_no_second_frame(clock):
    recorder = Recorder(clock)
    recorder.add("a", {"network": 2.0}, 30.0, 100)
    clock.advance(1)
    recorder.add_shown("a", 8.0)
    clock.advance(1)
    assert row(recorder.window(10), "a", "presentation").percentiles.max == 8
    assert recorder.tallies()["a"].frames == 1


def test_frames_that_nobody_reads_do_not_pile_up(monkeypatch):
    monkeypatch.setattr("app.latency.recorder.UNSORTED", 50)
    recorder = Recorder()
    for _ in range(1000):
        recorder.add("a", {"inference": 1.0}, 2.0, 1.0)
    assert len(recorder._heap) <= 51
    assert recorder.tallies()["a"].frames == 1000


def test_settling_sorts_what_was_added(clock):
    recorder = Recorder(clock)
    recorder.add("a", {}, 2.0, 1.0)
    recorder.settle()
    assert not recorder._heap
    assert recorder.tallies()["a"].misses == 1


def test_the_budgets_doings_are_counted():
    recorder = Recorder()
    for level in ("full", "full", "no_refine", "full"):
        recorder.set_level("a", level)
    recorder.count_breach("a", "inference")
    recorder.count_breach("a", "inference")
    counts = recorder.budget_counts()
    assert counts.levels == {"a": "full"}
    assert counts.level_changes == {("a", "no_refine"): 1, ("a", "full"): 1}
    assert counts.breaches == {("a", "inference"): 2}
