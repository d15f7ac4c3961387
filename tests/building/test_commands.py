"""`taktsight engine build`: its options, what it prints, and what it does with pictures."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console
from typer.testing import CliRunner

from app.building import commands
from app.building.build import Workshop
from app.building.commands import build, parse_batches, parse_size, precision_of
from app.building.line import Line, verifier
from app.building.options import BuildOptions
from app.cli import app as cli
from app.errors import ModelError, TaktsightError
from app.inference.engine_file import Verified, read_manifest
from app.inference.machine import Gpu

ROOT = Path(__file__).parents[2]
RTX = ("--runtime", "tensorrt_rtx_bindings")
RTX4070 = Gpu("NVIDIA GeForce RTX 4070", "8.9", "13.0", integrated=False, free_bytes=1 << 30)


def taktsight(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "app", *arguments]
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100, env=environment)


def test_a_build_prints_what_the_engine_is_and_that_nobody_ran_it(options: BuildOptions) -> None:
    said = taktsight("engine", "build", str(options.onnx), "-o", str(options.out), "--fp16", "--level", "1", *RTX)
    assert said.returncode == 0, said.stderr
    for text in ("fp16", "images 1 × 3 × 64 × 64 float32", "tensorrt_rtx 1.7", "level 1", "engine.allow_unverified"):
        assert text in said.stdout
    assert read_manifest(options.out).options["level"] == "1"


def test_without_out_the_engine_lies_beside_the_model(options: BuildOptions) -> None:
    assert taktsight("engine", "build", str(options.onnx), *RTX).returncode == 0
    assert read_manifest(options.onnx.with_suffix(".engine")).precision == "fp32"


# Options, the exit code, and what is said: one line, no traceback.
WRONG = [
    (["--fp16", "--int8"], 2, "exclude one another"),
    (["--batch", "8,4"], 2, "smallest first"),
    (["--batch", "0"], 2, "sizes from 1 up"),
    (["--batch", "many"], 2, "whole numbers with commas"),
    (["--input", "640 by 480"], 2, "e.g. 640, or width and height"),
    (["--input", "0"], 2, "pixels"),
    (["--level", "6"], 2, "0 (quick build) to 5"),
    (["--workspace", "0"], 2, "megabytes, 1 at least"),
    (["--runtime", "tensorflow"], 3, "'tensorflow' is no TensorRT"),
    (["--batch", "4"], 3, "fixes its batch at 1"),
    (["--int8"], 2, "no Q/DQ nodes and there are no pictures"),
    (["--int8", "--pictures", "/nowhere"], 2, "/nowhere"),
]


@pytest.mark.parametrize(("arguments", "code", "said"), WRONG)
def test_what_can_t_be_built_is_said_in_one_line(
    options: BuildOptions, arguments: list[str], code: int, said: str
) -> None:
    done = CliRunner().invoke(cli, ["engine", "build", str(options.onnx), "-o", str(options.out), *RTX, *arguments])
    assert isinstance(done.exception, TaktsightError)
    assert done.exception.exit_code == code
    assert said in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not options.out.exists()


def test_the_command_ends_with_its_exit_code_and_no_traceback(options: BuildOptions) -> None:
    done = taktsight("engine", "build", str(options.onnx), "--batch", "4", *RTX)
    assert done.returncode == 3
    assert done.stderr.startswith("taktsight: --batch 4: the model fixes its batch at 1")
    assert done.stderr.count("\n") == 1


def test_a_folder_that_can_t_be_made_is_said_in_one_line(options: BuildOptions) -> None:
    done = CliRunner().invoke(
        cli, ["engine", "build", str(options.onnx), "-o", str(options.onnx / "tiny.engine"), *RTX]
    )
    assert isinstance(done.exception, TaktsightError)
    assert "can't be written" in str(done.exception)
    assert "choose another --out" in str(done.exception)


def test_a_size_is_read_width_first() -> None:
    assert [parse_size(text) for text in ("", "640", "640x480", "1280X736")] == [
        None,
        (640, 640),
        (640, 480),
        (1280, 736),
    ]


def test_batches_and_precision_are_read() -> None:
    assert parse_batches("1,2,4,8") == (1, 2, 4, 8)
    assert [precision_of(fp16=fp16, int8=int8) for fp16, int8 in ((False, False), (True, False), (False, True))] == [
        "fp32",
        "fp16",
        "int8",
    ]


@pytest.fixture
def on_a_gpu(monkeypatch: pytest.MonkeyPatch, rtx: Workshop) -> ModuleType:
    """Have a GPU on this machine, as far as the build asks."""
    monkeypatch.setattr(commands, "find_gpu", lambda: RTX4070)
    return rtx.trt


def test_where_there_is_a_gpu_and_pictures_the_draft_is_compared_with_the_model(
    options: BuildOptions, on_a_gpu: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Path, ...]] = []

    def a_verifier(options: BuildOptions, line: Line, console: Console) -> Callable[[Path], Verified]:
        asked.append(line.pictures)
        return lambda draft: Verified(48, {"lost": 0.0})

    monkeypatch.setattr(commands, "verifier", a_verifier)
    console = Console(record=True, width=200)
    build(options, console, runtime="tensorrt_rtx", line=Line((Path("pictures"),)))
    assert asked == [(Path("pictures"),)]
    assert "on 48 pictures" in console.export_text()
    assert read_manifest(options.out).verified == Verified(48, {"lost": 0.0})


def test_where_there_is_a_gpu_but_no_picture_the_engine_is_not_verified(
    options: BuildOptions, on_a_gpu: ModuleType
) -> None:
    assert build(options, Console(quiet=True), runtime="tensorrt_rtx").verified is None


def test_the_comparison_is_over_the_configuration_s_own_pictures_where_none_are_named(
    options: BuildOptions, tmp_path: Path
) -> None:
    assert verifier(options, Line(), Console(quiet=True)) is None
    config = tmp_path / "line.yaml"
    config.write_text(
        f"line: l\nmqtt: null\nmodels: {{m: {{path: {options.onnx}, verify: {{pictures: shown}}}}}}\n"
        "cameras: {c: {source: {kind: images, path: shown}, model: m, judge: {rules: [{require: cover}]}}}\n"
    )
    line = Line(config=config)
    assert line.folders(line.setting(options)) == (tmp_path / "shown",)
    assert verifier(options, line, Console(quiet=True)) is not None


def test_the_size_of_the_build_is_the_size_that_the_line_runs(options: BuildOptions) -> None:
    sized = BuildOptions(options.onnx, options.out, input_wh=(96, 64))
    model = Line().setting(sized).model
    assert (model.input.width, model.input.height) == (96, 64)


def test_int8_is_calibrated_with_the_line_s_pictures(
    options: BuildOptions, rtx: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from app.building import quantiser  # noqa: PLC0415 - not at the top of the file that it is changed for
    from app.building.int8.calibrate import CalibrationOptions  # noqa: PLC0415

    asked: list[CalibrationOptions] = []

    def refuse(path: Path, engine: object, wanted: CalibrationOptions, tell: object) -> None:
        asked.append(wanted)
        raise ModelError("enough seen")

    monkeypatch.setattr(quantiser, "calibrate", refuse)
    int8 = BuildOptions(options.onnx, options.out, "int8")
    with pytest.raises(ModelError, match="enough seen"):
        build(int8, Console(quiet=True), runtime="tensorrt_rtx_bindings", line=Line((tmp_path,)))
    assert list(asked[0].folders) == [tmp_path]
    assert asked[0].rest_fp16  # TensorRT for RTX takes all types from the ONNX
    assert asked[0].cache == options.out.parent / ".cache"
