"""Another model while the line runs: loaded beside, checked, swapped between two frames, taken back if it does worse."""

import shutil

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from rich.console import Console

from app.broker import LocalBroker
from app.config import load, sections
from app.errors import TaktsightError
from app.golden import FILE, golden_folder, read_golden, write_golden
from app.model_commands import make_golden, set_model
from app.probation import REMEMBERED
from app.wiring import Watchers, build
from app.wiring.models import build_model
from tests.conftest import ROOT
from tests.system.test_reload import Rig, running, without_gap

pytestmark = pytest.mark.broker

CAMERA = """
  {name}:
    source: {{kind: conveyor, path: {root}/samples/covers, belt_px_s: 480, fps: 40}}
    queue: every
    deadline: false
    model: covers
    judge: {{score: 0.3, rules: [{{require: cover, otherwise: UNKNOWN}}]}}
"""


class Exchanging(Rig):
    """A line of two cameras with one model, which lies in a folder of the test's."""

    def __init__(self, folder, port):
        self.folder, self.path, self.port = folder, folder / "line.yaml", port
        self.outcomes, self.events = [], []
        shutil.copy(ROOT / "engines/covers_320.onnx", folder / "a.onnx")
        shutil.copy(ROOT / "engines/covers_320.onnx", folder / "b.onnx")
        self.models("a.onnx")
        self.product = build(load(self.path), Watchers(on_judged=self.outcomes.append))
        event, reload = self.product.outbox.event, self.product.reload

        def heard(*news, **data):
            self.events.append(news)
            event(*news, **data)

        reload._shared.outbox.event = reload._exchange._event = heard

    def models(self, file, more=""):
        cameras = "".join(CAMERA.format(name=name, root=ROOT) for name in ("front", "side"))
        self.path.write_text(
            f"line: exchange\ncameras:\n{cameras}models:\n  covers: {{path: {file}{more}}}\nmqtt: {{port: {self.port}}}\n"
        )

    def told(self, word):
        return [text for camera, kind, text in self.events if kind == "model" and word in text]

    @property
    def backend(self):
        return self.product.reload._shared.models["covers"].engine.backend


@pytest.fixture
def rig(tmp_path, monkeypatch):
    monkeypatch.setattr("app.probation.SLOWER", float("inf"))  # whatever else the machine does meanwhile
    with LocalBroker(kind="mosquitto") as broker, running(Exchanging(tmp_path, broker.port)) as rig:
        yield rig
    for name in ("front", "side"):
        counts = rig.product.ledger.counts(name)
        assert counts.balanced, f"{name}: {counts}"


def damage(path):
    """A model whose first convolution sees nothing: it loads and runs and finds no cover."""
    model = onnx.load(path)
    weights = next(one for one in model.graph.initializer if len(one.dims) == 4)
    weights.CopyFrom(numpy_helper.from_array(np.zeros(tuple(weights.dims), np.float32), weights.name))
    onnx.save(model, path)


def golden(path):
    """Write down what a model finds in a few pictures of the line."""
    model = build_model("m", sections.Model(path=str(path)))
    pictures = sorted((ROOT / "samples/covers").glob("*.jpg"))[:4]
    with model.engine.backend:
        write_golden(path, model.sha256, model.engine, pictures, 0.25, lambda: None)


def test_a_model_is_exchanged_between_two_frames_and_none_is_lost(rig):
    old = rig.backend
    rig.models("b.onnx", ", threads: 1")
    found = rig.reload()
    assert (found.models, found.rejudged) == (("covers",), ("front", "side"))
    rig.wait(lambda: rig.told("is kept"), "the end of its probation")
    assert without_gap(rig, "front")
    assert without_gap(rig, "side")
    assert {outcome.judgement.verdict.value for outcome in rig.of("front")[-40:]} >= {"OK"}
    rig.wait(lambda: not old._bindings, "the old engine's end: its memory is free again")


def test_a_model_that_finds_nothing_is_taken_back(rig):
    rig.wait_for_more("front", 40)
    rig.wait_for_more("side", 40)
    before = rig.product.reload.in_force
    damage(rig.folder / "b.onnx")
    rig.models("b.onnx")
    rig.reload()
    rig.wait(lambda: rig.told("taken back"), "the end of its probation")
    rig.wait(lambda: rig.product.reload.in_force is before, "the old configuration")
    assert "of its pictures are UNKNOWN" in rig.told("taken back")[0]
    rig.wait_for_more("front", 60)
    assert "OK" in {outcome.judgement.verdict.value for outcome in rig.of("front")[-60:]}
    assert without_gap(rig, "front")
    assert without_gap(rig, "side")


def test_a_model_that_does_not_find_what_its_golden_set_says_is_never_used(rig):
    golden(rig.folder / "b.onnx")
    damage(rig.folder / "b.onnx")
    before = rig.product.reload.in_force
    rig.models("b.onnx")
    with pytest.raises(TaktsightError, match="does not find what its golden set says: class cover"):
        rig.reload()
    assert rig.product.reload.in_force is before
    rig.wait_for_more("front")
    assert without_gap(rig, "front")


def test_a_model_with_a_golden_set_that_holds_is_loaded_and_said_to_be_checked(rig):
    golden(rig.folder / "b.onnx")
    rig.models("b.onnx")
    rig.reload()
    assert rig.told("b.onnx finds what its golden set says in 4 pictures")


@pytest.mark.parametrize("content", [b"", b"not a model"], ids=["empty", "rubbish"])
def test_a_file_that_is_no_model_is_refused_and_the_line_goes_on(rig, content):
    (rig.folder / "b.onnx").write_bytes(content)
    rig.models("b.onnx")
    with pytest.raises(TaktsightError):
        rig.reload()
    rig.wait_for_more("front")
    assert without_gap(rig, "front")


def test_a_damaged_golden_set_is_told(rig):
    golden(rig.folder / "b.onnx")
    (golden_folder(rig.folder / "b.onnx") / FILE).write_text("{")
    rig.models("b.onnx")
    with pytest.raises(TaktsightError, match="can't be read as a golden set"):
        rig.reload()


def test_the_probation_looks_at_enough_frames():
    assert REMEMBERED >= 100


# ── from the command line ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_golden_set_is_made_of_pictures_and_asked_for_by_the_command(tmp_path):
    shutil.copy(ROOT / "engines/covers_320.onnx", tmp_path / "a.onnx")
    (tmp_path / "line.yaml").write_text(
        "line: l\nmodels: {m: {path: a.onnx}}\nmqtt: null\n"
        "cameras: {c: {source: {kind: synthetic}, model: m, judge: {rules: [{require: cover}]}}}\n"
    )
    console = Console(record=True, width=200)
    make_golden(load(tmp_path / "line.yaml"), "m", [ROOT / "samples/covers/000_OK.jpg"], console)
    assert "1 pictures" in console.export_text()
    found = read_golden(tmp_path / "a.onnx")
    assert {box.name for box in found.pictures["000_OK.jpg"]} >= {"cover", "screw"}


def test_a_model_is_set_from_the_command_line_and_a_refusal_says_why(tmp_path):
    with LocalBroker(kind="mosquitto") as broker:
        rig = Exchanging(tmp_path, broker.port)
        rig.models("a.onnx")
        text = rig.path.read_text().replace(
            f"mqtt: {{port: {broker.port}}}", f"mqtt: {{port: {broker.port}, commands: {{allow: [set_model]}}}}"
        )
        rig.path.write_text(text)
        rig.product = build(load(rig.path), Watchers(on_judged=rig.outcomes.append))
        with running(rig):
            section, console = sections.Mqtt(port=broker.port), Console(record=True, width=200)
            set_model(section, "exchange", "front", "b.onnx", console)
            assert "front looks with b.onnx, until the configuration is read again" in console.export_text()
            rig.wait(lambda: rig.of("front")[-1].model.startswith("covers@front:"), "a verdict by it")
            assert rig.of("side")[-1].model.startswith("covers:"), "other cameras keep theirs"
            with pytest.raises(TaktsightError, match="no such file in the folder"):
                set_model(section, "exchange", "front", "c.onnx", console)
