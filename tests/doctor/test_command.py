"""The whole command: a line for everything, JSON for a machine, and an exit code by the worst."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from app.broker import LocalBroker
from app.doctor import command
from app.doctor.command import Wanted, carefully, doctor, report
from app.doctor.line import Level, fail, ok, warn, worst
from tests.conftest import ROOT


def taktsight(*arguments):
    call = [sys.executable, "-m", "app", *arguments]
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110, env=environment)


CONFIG = """\
line: l
cameras:
  front: {{source: {{kind: synthetic}}, model: covers, judge: {{rules: [{{forbid: {forbid}}}]}}}}
models: {{covers: {{path: {root}/engines/covers_640.onnx, device: {device}}}}}
mqtt: {{port: {port}, username: u, password: geheimnis}}
evidence: {{path: {folder}/evidence}}
"""


@pytest.fixture
def config(tmp_path):
    def write(port=1, device="cpu", forbid="hole"):
        path = tmp_path / "line.yaml"
        path.write_text(CONFIG.format(root=ROOT, port=port, device=device, forbid=forbid, folder=tmp_path))
        return str(path)

    return write


def test_the_machine_alone_needs_no_configuration():
    said = taktsight("doctor", "--json")
    found = json.loads(said.stdout)
    assert said.returncode == found["exit_code"] < 2, said.stdout
    assert found["worst"] == ["ok", "warn", "fail"][found["exit_code"]]
    topics = {line["topic"].split(" /")[0] for line in found["lines"]}
    wanted = {"machine", "permissions", "service", "clock", "disk", "memory", "GPU driver", "TensorRT", "ONNX Runtime"}
    assert wanted | {"governor", "thermal", "cameras"} <= topics
    assert all(bool(line["remedy"]) is (line["level"] != "ok") for line in found["lines"])


def test_a_line_that_is_well_is_looked_at_whole(config):
    with LocalBroker(kind="mosquitto") as broker:
        said = taktsight("doctor", config(broker.port))
    assert said.returncode in (0, 1), said.stdout
    for text in (
        "WARN  configuration",
        "better a password_file",
        " OK  model covers  runs on CPU",
        " OK  camera front",
        " OK  broker",
        " broken",
    ):
        assert text in said.stdout, said.stdout
    assert "0 broken" in said.stdout


def test_mdl_11_what_is_broken_ends_with_2_and_says_what_to_do_and_tells_no_secret(config):
    said = taktsight("doctor", config(device="cuda", forbid="hoel"))
    assert said.returncode == 2
    assert "FAIL  broker" in said.stdout
    assert "FAIL  device cuda" in said.stdout
    assert "FAIL  model covers" in said.stdout
    assert "did you mean 'hole'?" in said.stdout
    assert said.stdout.count("      → ") >= 4
    assert "geheimnis" not in said.stdout + said.stderr
    assert "Traceback" not in said.stderr


def test_a_model_that_runs_as_its_built_engine_asks_nothing_of_onnx_runtimes_providers(config, tmp_path):
    path = Path(config(device="tensorrt"))
    path.write_text(
        path.read_text().replace("device: tensorrt", f"device: tensorrt, engine: {{path: {tmp_path}/m.engine}}")
    )
    (tmp_path / "m.engine").write_bytes(b"")
    lines = {line["topic"]: line for line in json.loads(taktsight("doctor", "--json", str(path)).stdout)["lines"]}
    assert "device tensorrt" not in lines
    assert lines["model covers"]["level"] == "fail"
    assert lines["GPU driver"]["level"] == "fail"


def test_a_configuration_that_can_not_be_read_is_told_and_the_machine_is_looked_at_all_the_same(tmp_path):
    path = tmp_path / "line.yaml"
    path.write_text("line: l\ncameras: [1]\n")
    said = taktsight("doctor", str(path))
    assert said.returncode == 2
    assert "FAIL  configuration" in said.stdout
    assert "GPU driver" in said.stdout


# ── in this process ──────────────────────────────────────────────────────────────────────────────────────────────────

LEVELS = [
    ([], Level.OK, 0),
    ([ok("a", "b")], Level.OK, 0),
    ([ok("a", "b"), warn("a", "b", "c"), ok("a", "b")], Level.WARN, 1),
    ([fail("a", "b", "c"), warn("a", "b", "c")], Level.FAIL, 2),
]


@pytest.mark.parametrize(("lines", "level", "code"), LEVELS)
def test_the_worst_line_decides(lines, level, code):
    assert worst(lines) is level
    assert report(lines)["exit_code"] == code


def test_a_secret_of_the_configuration_is_masked_wherever_it_comes_from(config, monkeypatch, capsys):
    leaks = [fail("x", "login as u:geheimnis@broker", "not geheimnis")]
    monkeypatch.setattr(command, "checks", lambda *_: [("x", lambda: leaks)])
    console = Console(file=io.StringIO(), width=200)
    doctor(Wanted(Path(config())), console, Console(file=io.StringIO()))
    doctor(Wanted(Path(config()), as_json=True), console, Console(file=io.StringIO()))
    said = console.file.getvalue() + capsys.readouterr().out
    assert "login as u:" in said
    assert "geheimnis" not in said


def test_a_check_that_fails_itself_is_a_line_and_the_next_one_follows(monkeypatch):
    def broken():
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(command, "checks", lambda *_: [("one", broken), ("two", lambda: [ok("two", "[fine]")])])
    console = Console(file=io.StringIO(), width=200)
    assert doctor(Wanted(None), console, Console(file=io.StringIO())) == 2
    said = console.file.getvalue()
    assert "FAIL  one  this check failed itself (OSError: [Errno 5] Input/output error)" in said
    assert " OK  two  [fine]" in said
    assert carefully("x", lambda: [ok("x", "y")]) == [ok("x", "y")]
