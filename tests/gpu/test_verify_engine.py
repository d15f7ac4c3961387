"""`engine verify` on an engine: the product's own path to TensorRT, on a driver on host memory and an engine that is
an ONNX model. A real engine has not been compared with its model here: there is no GPU."""

import hashlib
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from rich.console import Console
from typer.testing import CliRunner

from app.building.verify_command import Setting, Wanted, check_draft, record, run_verify, setting_of
from app.building.verify_report import write_report
from app.cli import app
from app.errors import ConfigError, ModelError
from app.inference.engine_file import EngineInput, Manifest, Range, Verified, read_manifest, write_manifest
from app.inference.machine import find_gpu, this_machine
from app.inference.model_file import read_model
from tests.conftest import ROOT
from tests.gpu import fake_tensorrt
from tests.gpu.fake_driver import FakeDriver
from tests.gpu.seeming import seeming_gpu

MODEL = ROOT / "engines" / "covers_640.onnx"
DEMO = ROOT / "configs" / "demo.yaml"
SHAPE = (1, 3, 480, 640)
HEAD = "/heads.1/cls/cls.1/cls.1.0/Conv"
"""One layer, in the part of the head where the scratches are found."""


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """A machine that seems to have a GPU, TensorRT, and a compiler of kernels."""
    with seeming_gpu(monkeypatch) as fake:
        yield fake


def engine(path: Path, model: bytes, **changes: object) -> Path:
    """Write an engine and the manifest that a build on this machine would have put beside it."""
    plan, trt = fake_tensorrt.plan_of(model), fake_tensorrt.module()
    machine = this_machine(trt, find_gpu())
    info = read_model(MODEL)
    manifest = Manifest(
        MODEL.name,
        info.sha256,
        hashlib.sha256(plan).hexdigest(),
        machine,
        (machine.compute_capability or "",),
        "fp16",
        (EngineInput("images", "float32", (Range(SHAPE, SHAPE, SHAPE),)),),
        info.outputs,
    )
    path.write_bytes(plan)
    write_manifest(path, replace(manifest, **changes))
    return path


def damaged() -> bytes:
    """The demo line's model with one layer halved."""
    model = onnx.load(MODEL)
    (name,) = [node.input[1] for node in model.graph.node if node.name == HEAD]
    for tensor in model.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(0.5), name))
    return model.SerializeToString()


def quiet() -> Console:
    return Console(file=io.StringIO())


@pytest.fixture
def setting() -> Setting:
    return setting_of(Wanted(MODEL, config=DEMO))


@pytest.fixture(scope="module")
def few(covers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve pictures of the line, some with scratches."""
    folder = tmp_path_factory.mktemp("few")
    for path in sorted(covers.glob("*.jpg"))[6:18]:
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_an_engine_with_one_layer_damaged_is_refused_and_its_manifest_says_unverified(
    driver: FakeDriver, setting: Setting, few: Path, tmp_path: Path
) -> None:
    path = engine(tmp_path / "covers.engine", damaged(), verified=Verified(48, {}))
    report = run_verify(Wanted(path, config=DEMO, pictures=few), setting, quiet())
    assert report.refused[0].startswith("class scratch: ")
    assert report.refused[0].endswith(" of 6 lost, at most 2% may be (max_lost)")
    assert report.candidate.endswith(":tensorrt 10.3.0")
    record(path, report, Path("covers.engine.verify.html"))
    assert read_manifest(path).verified is None


def test_an_engine_that_finds_the_same_gets_its_figures_into_its_manifest(
    driver: FakeDriver, setting: Setting, few: Path, tmp_path: Path
) -> None:
    path = engine(tmp_path / "covers.engine", MODEL.read_bytes())
    report = run_verify(Wanted(path, config=DEMO, pictures=few), setting, quiet())
    assert report.passed
    record(path, report, write_report(report, tmp_path / "covers.engine.verify")[1])
    verified = read_manifest(path).verified
    assert verified is not None
    assert (verified.pictures, verified.report) == (12, "covers.engine.verify.html")
    assert verified.figures["same_verdicts"] == 1.0


UNFIT = [
    # made of another model
    ({"onnx_sha256": "0" * 64}, "model: built with 000000000000"),
    # made for another GPU
    ({"compute_capabilities": ("7.5",)}, "compute capability: built for 7.5"),
]


@pytest.mark.parametrize(("change", "said"), UNFIT)
def test_mdl_12_an_engine_that_does_not_fit_is_not_even_compared(
    driver: FakeDriver, setting: Setting, few: Path, tmp_path: Path, change: dict[str, object], said: str
) -> None:
    path = engine(tmp_path / "covers.engine", MODEL.read_bytes(), **change)
    with pytest.raises(ModelError, match=said):
        run_verify(Wanted(path, config=DEMO, pictures=few), setting, quiet())


def test_without_a_gpu_a_build_leaves_its_draft_unverified_and_the_command_refuses(
    driver: FakeDriver, setting: Setting, few: Path, tmp_path: Path
) -> None:
    path = engine(tmp_path / "covers.engine", MODEL.read_bytes())
    driver.reset(present=False)
    wanted = Wanted(path, config=DEMO, pictures=few)
    assert check_draft(wanted, setting, quiet(), tmp_path / "report")(path) is None
    said = CliRunner().invoke(app, ["engine", "verify", str(path), "--config", str(DEMO), "--pictures", str(few)])
    assert isinstance(said.exception, ModelError)
    assert "no NVIDIA GPU" in str(said.exception)


def test_the_model_is_the_one_that_the_manifest_names_where_it_lies_beside_the_engine(
    driver: FakeDriver, tmp_path: Path
) -> None:
    path = engine(tmp_path / "covers.engine", MODEL.read_bytes())
    with pytest.raises(ConfigError, match="which model was it made from"):
        setting_of(Wanted(path))
    (tmp_path / MODEL.name).write_bytes(MODEL.read_bytes())
    assert setting_of(Wanted(path)).model.path == str(tmp_path / MODEL.name)
