"""Evidence through the whole line: named in what is published, kept when nearly NG, harmless when the disk is full."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from app.config import LoadedConfig, load, sections
from app.evidence.record import read_record
from app.publish.message import Event, Result, decode
from app.verdict import Verdict
from app.wiring import Product, build
from tests.conftest import ROOT
from tests.evidence.disk import RealDisk, fill

PICTURES = 12


@pytest.fixture
def line(tmp_path):
    """Return what loads the folder line with a few pictures, its results in a file, and evidence as asked for."""

    def make(score=0.35, root=None, **evidence) -> LoadedConfig:
        loaded = load(ROOT / "configs" / "folder.yaml")
        camera = loaded.config.cameras["covers"]
        pictures = tmp_path / "pictures"
        if not pictures.exists():
            pictures.mkdir()
            for file in sorted((ROOT / "samples" / "covers").glob("*.jpg"))[:PICTURES]:
                (pictures / file.name).symlink_to(file)
        source = camera.source.model_copy(update={"path": str(pictures)})
        judge = camera.judge.model_copy(update={"scores": {"scratch": score}})
        section = {"path": str((root or tmp_path) / "evidence"), "min_free_bytes": 0, "max_per_s": 1000.0}
        model = loaded.config.models["covers"].model_copy(update={"path": str(ROOT / "engines" / "covers_320.onnx")})
        update = {
            "cameras": {"covers": camera.model_copy(update={"source": source, "judge": judge})},
            "models": {"covers": model},
            "mqtt": None,
            "jsonl": sections.Jsonl(path=str(tmp_path / "results.jsonl")),
            "evidence": sections.Evidence(**(section | evidence)),
        }
        return replace(loaded, config=loaded.config.model_copy(update=update))

    return make


def run(loaded: LoadedConfig) -> tuple[Product, list[Result], list[Event]]:
    """Run to the end of the pictures; return what was published."""
    product = build(loaded)
    product.service.run()
    messages = [decode(text) for text in Path(loaded.config.jsonl.path).read_bytes().splitlines()]
    results = [message for message in messages if isinstance(message, Result)]
    return product, results, [message for message in messages if isinstance(message, Event)]


def test_a_published_result_names_the_record_that_holds_it(line, tmp_path):
    _, results, _ = run(line(borderline=0.0))
    assert [bool(result.evidence) for result in results] == [result.verdict is not Verdict.OK for result in results]
    for result in filter(lambda result: result.evidence, results):
        record = read_record((tmp_path / "evidence" / result.evidence).read_bytes())
        assert msgspec.structs.replace(record.result, stages_ms=result.stages_ms, total_ms=result.total_ms) == result
    assert any(result.evidence for result in results)


def test_a_part_that_is_nearly_ng_is_kept_though_the_rules_never_see_why(line, tmp_path):
    scores = [
        box.score for result in run(line(borderline=0.0))[1] for box in result.detections if box.name == "scratch"
    ]
    just_over = max(scores) + 0.02
    (tmp_path / "results.jsonl").unlink()
    _, results, _ = run(line(score=just_over, borderline=0.05))
    near = [result for result in results if "-OK-borderline-" in result.evidence]
    assert near
    for result in near:
        assert result.verdict is Verdict.OK
        assert not any(box.name == "scratch" for box in result.detections)
        assert json.loads((tmp_path / "evidence" / result.evidence).read_text())["replay"]["why"] == ["borderline"]


def test_a_margin_changes_no_verdict_and_no_box(line, tmp_path):
    plain = run(line(borderline=0.0))[1]
    (tmp_path / "results.jsonl").unlink()
    wide = run(line(borderline=0.3))[1]
    assert [(one.verdict, one.detections, one.reasons) for one in plain] == [
        (one.verdict, one.detections, one.reasons) for one in wide
    ]


def test_ops_06_a_full_disk_stops_neither_the_inspection_nor_its_results(line, tmp_path):
    disk = RealDisk(tmp_path / "disk")
    mounted = disk.mount(1 << 20)
    try:
        if mounted:
            fill(disk.folder, 20_000)
            loaded = line(root=disk.folder, verdicts=["OK", "NG", "UNKNOWN"])
        else:  # what this user can't mount is asked for as room that no disk has
            loaded = line(verdicts=["OK", "NG", "UNKNOWN"], min_free_bytes=1 << 60)
        product, results, events = run(loaded)
        left = [path for path in (disk.folder / "evidence").rglob("*") if path.is_file()]
    finally:
        disk.close()
    assert len(results) == PICTURES
    assert product.ledger.counts("covers").balanced
    said = [event for event in events if event.kind == "evidence"]
    assert [(event.data["saving"], "the disk is full" in event.text) for event in said] == [(False, True)]
    lost = [path for event in events if event.kind == "evidence_lost" for path in event.data["pictures"]]
    assert sorted(lost) == sorted(result.evidence for result in results if result.evidence)
    assert left == []
