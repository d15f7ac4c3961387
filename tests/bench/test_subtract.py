"""The line without one of its stages: a recording in its place, and the same verdicts all the same."""

import io
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from app.bench import subtract
from app.bench.line import STAGES, LineRun, record, run_once, stand
from app.bench.reel import Turns
from app.bench.subtract import Part, bottleneck, part_of, wanted
from app.config import LoadedConfig, load, sections
from app.engine import HostEngine
from app.errors import ConfigError
from tests.conftest import ROOT

FRAMES = 24
ONE_LOOK = frozenset(STAGES) - {"refine"}
EACH = [frozenset({stage}) for stage in STAGES if stage in ONE_LOOK]


@pytest.fixture(scope="module")
def line() -> LoadedConfig:
    """The demo line without a broker."""
    loaded = load(ROOT / "configs" / "demo.yaml")
    return replace(loaded, config=loaded.config.model_copy(update={"mqtt": None}))


@pytest.fixture(scope="module")
def reels(line):
    with stand(line) as alone:
        return record(alone, FRAMES, frozenset(STAGES), 1 << 30)


def part(name: str, per_second: float, spread: float = 1.0) -> Part:
    without = frozenset(name.split("+")) if name else frozenset()
    return Part(without, 10.0, 1.0, 0.0, 0.0, per_second, spread, 100)


@pytest.mark.parametrize("without", [frozenset(), *EACH, ONE_LOOK], ids=lambda names: "+".join(sorted(names)))
def test_the_line_says_the_same_whichever_stage_is_played_from_a_recording(line, reels, without):
    with stand(line) as alone:
        run = run_once(alone, FRAMES, reels, without)
    said = [(outcome.part, outcome.judgement) for outcome in run.outcomes]
    recorded = [judgement for reel in reels.values() for judgement in reel.judgements]
    assert [judgement for _, judgement in said] == recorded
    assert len(said) == len(recorded) >= 1
    assert run.per_second > 0


@pytest.mark.parametrize("without", EACH[1:4], ids=lambda names: "+".join(sorted(names)))
def test_the_stage_that_is_taken_out_does_not_run(line, reels, without, monkeypatch):
    ran = Counter()

    def counted(name: str, step):
        return lambda *arguments: (ran.update([name]), step(*arguments))[1]

    played = Turns.engine

    def watched(turns: Turns, engine: HostEngine, without: frozenset[str]) -> HostEngine:
        monkeypatch.setattr(engine.preprocessor, "run", counted("preprocess", engine.preprocessor.run))
        monkeypatch.setattr(engine.backend, "infer", counted("inference", engine.backend.infer))
        return played(turns, replace(engine, decode=counted("decode", engine.decode)), without)

    monkeypatch.setattr(Turns, "engine", watched)
    with stand(line) as alone:
        run_once(alone, FRAMES, reels, without)
    assert {name for name, times in ran.items() if times >= FRAMES} == {"preprocess", "inference", "decode"} - without


@pytest.fixture(scope="module")
def twice() -> LoadedConfig:
    """The sample parts one by one, each looked at again on two tiles."""
    loaded = load(ROOT / "configs" / "folder.yaml")
    refine = sections.Refine(mode="grid", tile_width=480, tile_height=480, max_regions=2)
    cameras = {name: one.model_copy(update={"refine": refine}) for name, one in loaded.config.cameras.items()}
    update = {"mqtt": None, "jsonl": None, "evidence": None, "cameras": cameras}
    return replace(loaded, config=loaded.config.model_copy(update=update))


@pytest.mark.parametrize("stages", ["refine", "inference", "preprocess", "decode+judge"])
def test_a_line_that_looks_twice_says_the_same_without_one_of_its_stages(twice, stages):
    (without,) = wanted(stages)
    with stand(twice) as alone:
        reels = record(alone, 6, without, 1 << 30)
        (reel,) = reels.values()
        run = run_once(alone, 6, reels, without)
    assert [len(refined.looked) for refined in reel.refined] == [2] * 6
    assert [outcome.judgement for outcome in run.outcomes] == reel.judgements
    seen = {outcome.detections.scores.tobytes() for outcome in run.outcomes}
    assert len(seen) == 6, "not the same picture again and again"


def test_refine_is_refused_where_there_is_none_and_with_the_steps_it_uses(line):
    with pytest.raises(ConfigError, match="no second look"):
        subtract.subtract(Console(file=io.StringIO()), line, wanted("refine"), frames=4, rounds=1)
    with pytest.raises(ConfigError, match="refine uses inference again"):
        wanted("decode,refine+inference")


def test_without_publish_nothing_reaches_the_outbox(line, reels, tmp_path, monkeypatch):
    put = []
    monkeypatch.setattr("app.publish.outbox.Outbox.put", lambda self, outcome: put.append(outcome))
    with stand(line) as alone:
        run = run_once(alone, FRAMES, reels, frozenset({"publish"}))
    assert len(run.outcomes) >= 1
    assert put == []


def test_a_measured_line_writes_to_none_of_its_own_files(line, tmp_path):
    config = line.config
    with stand(line) as alone:
        assert alone.config.jsonl.path != config.jsonl.path
        assert alone.config.evidence.path != config.evidence.path
        assert not Path(alone.config.jsonl.path).is_relative_to(ROOT)


def test_fewer_frames_are_recorded_where_memory_does_not_hold_them(line):
    with stand(line) as alone:
        reels = record(alone, FRAMES, frozenset({"capture"}), 5 * 960 * 720 * 3)
    assert 5 <= len(reels["covers"].pictures) < FRAMES


def test_stages_are_named_one_by_one_or_joined():
    assert wanted("decode, preprocess+inference,decode") == [
        frozenset({"decode"}),
        frozenset({"preprocess", "inference"}),
    ]


@pytest.mark.parametrize("text", ["foo", "decode,", "decode+foo", "network"])
def test_a_stage_that_there_is_not_is_refused_with_those_there_are(text):
    with pytest.raises(ConfigError, match="there are: capture, preprocess, inference, decode, refine, judge, publish"):
        wanted(text)


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ([part("inference", 100.0), part("decode", 45.0)], "bottleneck: inference: without it 100.0"),
        (
            [part("preprocess+inference", 300.0), part("inference", 100.0)],
            "bottleneck: inference:",
        ),  # single ones count
        ([part("preprocess+inference", 300.0)], "bottleneck: preprocess + inference:"),  # unless there is none
        ([part("decode", 42.0, 1.5)], "no bottleneck"),  # within what runs differ by
    ],
)
def test_the_bottleneck_is_the_stage_without_which_the_line_is_fastest(parts, word):
    assert next(iter(bottleneck([part("", 40.0), *parts]))).startswith(word)


def test_what_a_part_loses_is_seen_beside_the_whole_line_of_the_same_round():
    whole = [LineRun([ms], {}, 40.0, []) for ms in (10.0, 20.0, 30.0)]  # the machine gets slower and slower
    without = [LineRun([ms - 4.0], {}, 50.0, []) for ms in (10.0, 20.0, 30.0)]
    found = part_of(frozenset({"decode"}), without, whole)
    assert (found.loses_ms, found.loses_spread_ms) == (4.0, 0.0)
    assert found.own_spread_ms > 1


def test_the_table_has_a_row_for_the_whole_line_and_for_each_part(line):
    console = Console(file=io.StringIO(), width=150)
    parts = subtract.subtract(console, line, wanted("decode,judge"), frames=FRAMES, rounds=1)
    assert [one.name for one in parts] == ["", "decode", "judge"]
    said = console.file.getvalue()
    for word in ("whole", "without decode", "without judge", "bottleneck"):
        assert word in said
