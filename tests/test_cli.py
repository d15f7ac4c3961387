"""The commands: what they print, what they say when it goes wrong, and how they end."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from app.cli import app, main
from tests.conftest import ROOT


def taktsight(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "app", *arguments]
    env = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", **(environment or {})}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100, env=env)


MODEL = "models: {m: {path: %s}}\n"
CAMERA = "cameras: {c: {source: {kind: images, path: %s}, model: m, judge: {rules: [{require: cover}]}}}\n"


def config(folder: Path, *, model: str, source: str, more: str = "mqtt: null\n") -> str:
    path = folder / "line.yaml"
    path.write_text("line: l\n" + MODEL % model + CAMERA % source + more)
    return str(path)


COMMANDS = (
    *("run", "demo", "check", "schema", "status", "watch", "bench", "latency", "trace", "report", "replay", "tune"),
    *("model", "compare", "engine", "plan", "doctor", "version"),
)


def test_help_names_every_command_and_the_exit_codes() -> None:
    said = taktsight("--help")
    assert said.returncode == 0
    for word in (*COMMANDS, "Exit codes"):
        assert word in said.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    said = CliRunner().invoke(app, [command, "--help"], prog_name="taktsight", env={"COLUMNS": "200"})
    assert said.exit_code == 0
    assert f"taktsight {command}" in said.stdout


@pytest.mark.parametrize("asked", ["version", "--version"])
def test_version_names_the_product_and_its_engine(asked: str) -> None:
    said = taktsight(asked)
    assert said.returncode == 0
    assert f"taktsight {version('taktsight')}" in said.stdout
    assert f"onnxruntime {version('onnxruntime')}" in said.stdout


def test_schema_prints_one_json_schema_for_the_configuration_and_one_for_messages() -> None:
    for arguments in (("schema",), ("schema", "--message")):
        schema = json.loads(taktsight(*arguments).stdout)
        jsonschema.validators.validator_for(schema).check_schema(schema)


def test_check_finds_nothing_wrong_with_the_demo() -> None:
    said = taktsight("check", "configs/demo.yaml")
    assert said.returncode == 0, said.stdout
    assert "0 errors, 0 warnings" in said.stdout


def test_check_ends_with_2_and_names_file_line_and_key_of_what_is_wrong(tmp_path: Path) -> None:
    said = taktsight("check", config(tmp_path, model=f"{ROOT}/engines/covers_640.onnx", source="not_there"))
    assert said.returncode == 2
    assert "line.yaml:3: cameras.c.source.path" in said.stdout


@pytest.mark.parametrize(
    ("model", "source", "code", "words"),
    [
        ("{root}/engines/covers_640.onnx", "not_there", 4, "not_there"),  # no pictures
        ("not_there.onnx", "{root}/samples/covers", 3, "not_there.onnx"),  # no model
        ("{root}/README.md", "{root}/samples/covers", 3, "README.md"),  # no model either
    ],
)
def test_an_error_is_one_line_with_its_own_exit_code(
    tmp_path: Path, model: str, source: str, code: int, words: str
) -> None:
    said = taktsight("run", config(tmp_path, model=model.format(root=ROOT), source=source.format(root=ROOT)))
    assert said.returncode == code, said.stderr
    lines = [line for line in said.stderr.splitlines() if line.startswith("taktsight: ")]
    assert len(lines) == 1
    assert words in lines[0]
    assert "Traceback" not in said.stderr


def test_cfg_07_a_fault_in_the_configuration_ends_with_2_and_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "line.yaml"
    path.write_text("line: l\ncameras: [1]\nmodels: {}\n")
    said = taktsight("run", str(path))
    assert said.returncode == 2
    assert said.stderr.count("taktsight: ") >= 2, "all faults at once"
    assert "Traceback" not in said.stderr


def test_src_01_run_ends_with_0_when_every_source_has_ended(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    more = f"mqtt: null\njsonl: {{path: {out}}}\n"
    source = tmp_path / "parts"
    source.mkdir()
    for name in ("000_OK.jpg", "003_NG.jpg"):
        (source / name).write_bytes((ROOT / "samples" / "covers" / name).read_bytes())
    said = taktsight("run", config(tmp_path, model=f"{ROOT}/engines/covers_640.onnx", source=str(source), more=more))
    assert said.returncode == 0, said.stderr
    assert len([line for line in out.read_text().splitlines() if '"verdict"' in line]) == 2
    assert "2 captured = 2 judged" in said.stderr


def test_watch_says_that_the_broker_is_not_there(
    free_port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("app.watch.FIRST_CONNECTION_S", 0.5)
    monkeypatch.setattr("sys.argv", ["taktsight", "watch", "--port", str(free_port), "--count", "1"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 5
    assert f"127.0.0.1:{free_port}" in capsys.readouterr().err


def test_cfg_09_a_password_is_shown_by_no_command(tmp_path: Path, free_port: int) -> None:
    secret = "Geh3im!x"
    more = f"mqtt: {{port: {free_port}, username: u, password: '{secret}'}}\n"
    path = config(
        tmp_path, model=f"{ROOT}/engines/covers_640.onnx", source=f"{ROOT}/samples/covers/000_OK.jpg", more=more
    )
    for command in ("check", "run"):
        said = taktsight(command, path)
        assert said.returncode == 0, said.stderr
        assert secret not in said.stdout + said.stderr
