"""The covers model in INT8 from pictures of its line: calibrators tried, layers swept, the result beside FP32."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from rich.console import Console

from app.building.int8 import calibrate as steps
from app.building.int8.calibrate import Calibrated, CalibrationOptions, calibrate
from app.building.int8.session import ModelRunner
from app.building.int8.tables import as_json, show
from app.building.int8.thresholds import THRESHOLDS
from app.building.verify_rules import Rules
from app.config import load, sections
from app.engine import HostEngine
from app.errors import ModelError
from app.wiring.models import build_model
from tests.building.int8.conftest import COVERS, PICTURES
from tests.building.int8.covers_pictures import ROOT
from tests.building.int8.networks import network, node

pytestmark = pytest.mark.timeout(300)  # half a minute of work where nothing else runs


def wired(path: Path = COVERS) -> HostEngine:
    return build_model("covers", sections.Model(path=str(path))).engine


def asked(line: Path, cache: Path | None = None, **more: object) -> CalibrationOptions:
    camera = load(ROOT / "configs" / "demo.yaml").config.cameras["covers"]
    rules = Rules(camera, ("cover", "screw", "hole", "brass", "scratch"))
    return CalibrationOptions([line], rules=rules, cache=cache, least=PICTURES, **more)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where recipes are kept."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def told() -> list[tuple[str, int, int | None]]:
    """What was said of the progress."""
    return []


@pytest.fixture(scope="module")
def made(line: Path, cache: Path, told: list[tuple[str, int, int | None]]) -> Calibrated:
    """One calibration for all tests here: it takes a while."""
    return calibrate(COVERS, wired(), asked(line, cache, rest_fp16=True), lambda *said: told.append(said))


def printed(calibrated: Calibrated) -> str:
    stream = StringIO()
    Console(file=stream, width=160).print(show(calibrated))
    return stream.getvalue()


def test_every_calibrator_is_tried_and_the_best_is_kept(made: Calibrated) -> None:
    assert [trial.name for trial in made.found.tried] == list(THRESHOLDS)
    best = min(made.found.tried, key=lambda trial: trial.rank)
    assert made.found.recipe.calibrator == best.name
    assert len({round(trial.damage, 6) for trial in made.found.tried}) > 1, "all calibrators gave the same"


def test_int8_finds_what_fp32_finds_on_pictures_that_were_held_out(made: Calibrated) -> None:
    assert made.held_out == 8
    assert made.final.lost <= 1
    assert made.final.verdicts is not None
    assert made.final.verdicts.escapes == 0
    assert made.final.damage < 0.15


def test_the_layers_that_suffer_most_are_those_that_are_left_out(made: Calibrated) -> None:
    recipe, taken = made.found.recipe, made.found.steps
    worst = [suspect.nodes[0] for suspect in made.found.suspects if len(suspect.nodes) == 1]
    assert recipe.left_out == tuple(worst[: len(recipe.left_out)])
    assert len(recipe.left_out) <= made.layers / 4
    chosen = next(step for step in taken if step.layers == made.final.layers)
    assert chosen.damage <= min(step.damage for step in taken if step.rank[:2] == chosen.rank[:2]) * 1.5
    assert made.final.layers == made.layers - len(recipe.left_out)


def test_the_model_computes_in_int8_and_fp16_and_a_real_builder_takes_it(
    made: Calibrated, real_build: Callable[[onnx.ModelProto], int]
) -> None:
    operators = [one.op_type for one in made.model.graph.node]
    assert operators.count("QuantizeLinear") > made.final.layers
    halves = [tensor for tensor in made.model.graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT16]
    assert halves
    assert real_build(made.model) > 100_000


def test_progress_is_told_step_by_step(made: Calibrated, told: list[tuple[str, int, int | None]]) -> None:
    assert made.layers
    assert list(dict.fromkeys(step for step, _, _ in told)) == [
        "choosing pictures",
        "observing values",
        "trying calibrators",
        "sweeping layers",
        "leaving layers out",
    ]
    assert ("observing values", 16, 16) in told


def test_mdl_15_the_same_again_takes_the_recipe_and_observes_nothing(
    made: Calibrated, line: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "observe", lambda *_: pytest.fail("it calibrated again"))
    again = calibrate(COVERS, wired(), asked(line, cache, rest_fp16=True))
    assert again.found.recipe == made.found.recipe
    assert again.found.tried == ()
    assert again.model == made.model
    assert as_json(again) == as_json(made)
    assert "Calibrated before" in printed(again)


def test_mdl_15_another_model_is_calibrated_anew(
    made: Calibrated, line: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = onnx.load(COVERS)
    other.metadata_props.add(key="trained", value="again")
    onnx.save(other, tmp_path / "covers_320.onnx")
    observed: list[str] = []

    def observing(*_: object) -> None:
        observed.append("observed")
        raise ModelError("enough")

    monkeypatch.setattr(steps, "observe", observing)
    with pytest.raises(ModelError, match="enough"):
        calibrate(tmp_path / "covers_320.onnx", wired(tmp_path / "covers_320.onnx"), asked(line, cache))
    assert made.found.recipe.model_sha256
    assert observed == ["observed"]


def test_the_tables_show_calibrators_sweep_and_result(made: Calibrated) -> None:
    text = printed(made)
    assert f"{made.found.recipe.calibrator} ←" in text
    assert "16 calibrate, 8 are held out to judge" in text
    for word in ("Sweep, the worst first", "0 left out", "escapes", "The INT8 model beside the FP32"):
        assert word in text


def test_a_layers_name_is_whole_on_a_narrow_terminal(made: Calibrated) -> None:
    stream = StringIO()
    Console(file=stream, width=80).print(show(made))
    names = "".join(words[0] for line in stream.getvalue().splitlines() if (words := line.split()))
    assert made.found.suspects[0].trial.name in names


def test_the_report_is_json_with_every_figure(made: Calibrated) -> None:
    report = json.loads(json.dumps(as_json(made)))
    assert report["calibration_sha256"] == made.found.recipe.calibration_sha256
    assert [one["name"] for one in report["tried"]] == list(THRESHOLDS)
    assert report["final"]["verdicts"]["pictures"] == 8
    assert set(report["final"]["classes"]) >= {"cover", "screw"}
    assert sum(len(one["nodes"]) for one in report["sweep"]) == made.layers


def test_a_model_without_layers_is_refused(line: Path, engine: HostEngine, tmp_path: Path) -> None:
    onnx.save(network([node("Relu", "images", "out")], []), tmp_path / "plain.onnx")
    with pytest.raises(ModelError, match=r"plain\.onnx: no layer has weights"):
        calibrate(tmp_path / "plain.onnx", engine, asked(line))


def test_the_models_file_is_not_changed(made: Calibrated) -> None:
    assert hashlib.sha256(COVERS.read_bytes()).hexdigest() == made.found.recipe.model_sha256


def test_its_numbers_are_those_of_onnx_runtimes_own_int8_kernels_but_for_rounding(made: Calibrated) -> None:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    inputs = {"images": np.random.default_rng(5).random((1, 3, 320, 320), np.float32)}
    session = ort.InferenceSession(made.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    scores = session.run(None, inputs)[0][:, 4:]
    np.testing.assert_allclose(scores, ModelRunner(made.model).infer(inputs)["output0"][:, 4:], atol=0.1)
