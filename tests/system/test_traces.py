"""The trace file of a whole product, and what is made of it."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from app.config import LoadedConfig, sections
from app.latency.trace_reader import TraceLog, read_trace
from app.traces.perfetto import document, trace_events
from app.traces.report import report
from app.traces.timing import timings_of
from tests.system.lines import demo_line, run

PARTS = 6


def traced(path: Path, **section: object) -> LoadedConfig:
    loaded = demo_line(parts=PARTS)
    update = {"trace": sections.TraceFile(path=str(path), **section)}
    return replace(loaded, config=loaded.config.model_copy(update=update))


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> tuple[TraceLog, list, object]:
    """A short covers line with all of it traced: the file, the outcomes and the product."""
    path = tmp_path_factory.mktemp("traces") / "trace.jsonl"
    outcomes, product = run(traced(path, passed_over=1.0))
    return read_trace(path), outcomes, product


def test_every_outcome_is_traced_once_with_what_it_said_of_itself(line) -> None:
    log, outcomes, _ = line
    assert [(f.trace_id, f.rev) for f in log.published] == [(o.trace_id, o.rev) for o in outcomes]
    for frame, outcome in zip(log.published, outcomes, strict=True):
        assert frame.part == outcome.part
        assert frame.verdict is outcome.judgement.verdict
        assert (frame.level, frame.late) == (outcome.level, outcome.late)
        assert {span.step for span in frame.spans} == {step for step, _, _ in outcome.trace.spans}
        assert "publish" in {span.step for span in frame.spans}, "the trace ends with the network"


def test_every_frame_that_the_gate_passed_over_is_traced_where_all_are_asked_for(line) -> None:
    log, outcomes, product = line
    skipped = [frame for frame in log.frames if frame.fate == "skipped"]
    said_late = {outcome.trace_id for outcome in outcomes}
    only_passed = [frame for frame in skipped if frame.trace_id not in said_late]
    assert len(only_passed) == product.ledger.counts("covers").skipped
    assert all(frame.verdict is None for frame in skipped)


def test_the_file_says_which_line_and_what_befell_its_camera(line) -> None:
    log, _, _ = line
    assert log.runs[0].line == "demo"
    assert log.runs[0].cameras["covers"].stages_ms["inference"] == 35.0
    assert [event.data["state"] for event in log.events if event.kind == "camera"] == ["connecting", "online", "ended"]
    assert (log.broken, log.dropped) == (0, 0)


def test_times_of_a_frame_and_of_what_happened_are_on_one_clock(line) -> None:
    log, _, _ = line
    online, ended = (
        next(e.began_ns for e in log.events if e.data.get("state") == state) for state in ("online", "ended")
    )
    assert all(online - 1e9 < frame.exposed_ns < ended for frame in log.frames)


def test_a_report_and_an_export_can_be_made_of_it(line) -> None:
    log, outcomes, _ = line
    ElementTree.fromstring(report(log).removeprefix("<!DOCTYPE html>\n"))
    rows = json.loads(document(log, trace_events(log)))["traceEvents"]
    assert sum(row["ph"] == "s" for row in rows) == len({frame.trace_id for frame in log.frames})
    assert len(timings_of(log.frames)) == len({outcome.trace_id for outcome in outcomes})


def test_by_default_only_outcomes_are_traced(tmp_path: Path) -> None:
    outcomes, _ = run(traced(tmp_path / "trace.jsonl"))
    log = read_trace(tmp_path / "trace.jsonl")
    assert len(log.frames) == len(outcomes)
