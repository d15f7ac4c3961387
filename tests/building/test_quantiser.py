"""`taktsight engine build --int8` whole: pictures of a line in, a real engine of a Q/DQ model out, with its figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from typer.testing import CliRunner

from app.cli import app
from app.errors import ConfigError, ModelError
from app.inference.engine_file import manifest_path


@pytest.fixture
def finding(save_yolo: Callable[..., Path]) -> Callable[..., Path]:
    """Write the small model with a bias by which it finds a box in the middle of any picture."""

    def save(batch: object = 1) -> Path:
        path = save_yolo((batch, 3, 64, 64))
        model = onnx.load(path)
        last = [node for node in model.graph.node if node.op_type == "Conv"][-1]
        last.input.append("middle")
        bias = np.array([32, 32, 20, 20, 1, -2], np.float32)
        model.graph.initializer.append(numpy_helper.from_array(bias, "middle"))
        onnx.save(model, path)
        return path

    return save


def pictures(folder: Path, count: int) -> Path:
    """Pictures that all differ."""
    folder.mkdir()
    random = np.random.default_rng(1)
    for index in range(count):
        small = random.integers(0, 256, (6, 8, 3), np.uint8)
        cv2.imwrite(str(folder / f"{index}.png"), cv2.resize(small, (64, 48), interpolation=cv2.INTER_CUBIC))
    return folder


def config(folder: Path, model: Path, verify: str) -> Path:
    """A line with one camera and what may differ on it."""
    path = folder / "line.yaml"
    path.write_text(
        f"line: l\nmqtt: null\nmodels: {{m: {{path: {model}, verify: {{{verify}}}}}}}\n"
        "cameras: {c: {source: {kind: images, path: shown}, model: m, judge: {rules: [{require: cover}]}}}\n"
    )
    return path


def build(model: Path, *more: str) -> tuple[str, BaseException | None]:
    result = CliRunner().invoke(
        app,
        ["engine", "build", str(model), "--int8", "--runtime", "tensorrt_rtx_bindings", *more],
        env={"COLUMNS": "160"},
    )
    return result.output, result.exception


LENIENT = "max_lost: 1.0, max_invented: 1.0, min_iou: 0.0, max_score_difference: 1.0, max_escapes: 1000, min_same_verdicts: 0.0"


def test_pictures_in_an_int8_engine_out_with_its_figures_beside_it(
    finding: Callable[..., Path], tmp_path: Path
) -> None:
    model, folder = finding(), pictures(tmp_path / "line", 102)
    said, error = build(model, "--pictures", str(folder), "--config", str(config(tmp_path, model, LENIENT)))
    assert error is None, said
    engine = model.with_suffix(".engine")
    manifest = json.loads(manifest_path(engine).read_text())
    report = json.loads((tmp_path / "tiny.engine.int8.json").read_text())
    assert manifest["precision"] == "int8"
    assert manifest["calibration_sha256"] == report["calibration_sha256"]
    assert (report["pictures"]["calibrate"], report["pictures"]["held_out"]) == (68, 34)
    assert len(report["tried"]) == 5
    assert "Calibrators, all 3 layers in INT8" in said
    assert "Sweep, the worst first" in said
    assert engine.stat().st_size > 10_000


def test_a_model_with_an_open_batch_gets_an_int8_engine_for_several(
    finding: Callable[..., Path], tmp_path: Path
) -> None:
    model, folder = finding("batch"), pictures(tmp_path / "line", 100)
    lenient = str(config(tmp_path, model, LENIENT))
    said, error = build(model, "--pictures", str(folder), "--config", lenient, "--batch", "1,2")
    assert error is None, said
    manifest = json.loads(manifest_path(model.with_suffix(".engine")).read_text())
    assert manifest["inputs"][0]["ranges"][-1]["most"][0] == 2


def test_int8_that_differs_too_much_is_refused_and_its_figures_are_there_to_read(
    finding: Callable[..., Path], tmp_path: Path
) -> None:
    model, folder = finding(), pictures(tmp_path / "line", 100)
    strict = "max_score_difference: 0.0, min_iou: 1.0"
    said, error = build(model, "--pictures", str(folder), "--config", str(config(tmp_path, model, strict)))
    assert isinstance(error, ModelError), said
    assert "build it with --fp16, calibrate with more pictures" in str(error)
    assert not model.with_suffix(".engine").exists()
    assert json.loads((tmp_path / "tiny.engine.int8.json").read_text())["final"]["refused"]


@pytest.mark.parametrize("count", [0, 99])
def test_mdl_15_too_few_pictures_build_nothing(count: int, save_yolo: Callable[..., Path], tmp_path: Path) -> None:
    model = save_yolo()
    _, error = build(model, "--pictures", str(pictures(tmp_path / "line", count)))
    assert isinstance(error, ConfigError)
    assert f"{count} of {count} pictures can calibrate; INT8 needs 100 that differ" in str(error)
    assert not model.with_suffix(".engine").exists()
