"""One machine for all the tests of this folder; they run in the order in which they stand."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.booted.machine import Machine, booted, debian_root, wheelhouse
from tests.conftest import ROOT

CONFIG = """
line: booted
cameras:
  covers:
    source: {kind: conveyor, path: /var/lib/taktsight/covers, belt_px_s: 480, fps: 10}
    model: covers
    judge: {score: 0.3, rules: [{require: cover, otherwise: UNKNOWN}]}
models:
  covers: {path: /var/lib/taktsight/covers_320.onnx}
mqtt: {host: 127.0.0.1}
"""
"""A line that moves, its tiles and its model in the service's own folder."""


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine that has just been set up: a broker runs, Taktsight is not there."""
    folder = tmp_path_factory.mktemp("machine")
    root = folder / "root"
    subprocess.run(["cp", "--archive", "--reflink=auto", str(debian_root()), str(root)], check=True)
    with booted(root, {ROOT: "/src", wheelhouse(): "/wheels"}, folder / "console.log") as running:
        yield running
    shutil.rmtree(root)


@pytest.fixture(scope="session")
def before(machine: Machine) -> set[str]:
    """Every file of the machine before anything is installed."""
    return files(machine)


@pytest.fixture(scope="session")
def installed(machine: Machine, before: set[str]) -> Machine:
    """The machine with the service installed and running."""
    state = machine.root / "var/lib/taktsight"
    state.mkdir(mode=0o755)
    shutil.copytree(ROOT / "samples/covers", state / "covers")
    shutil.copy(ROOT / "engines/covers_320.onnx", state)
    machine.write("/root/line.yaml", CONFIG)
    said = machine.run("/src/scripts/install.sh --wheelhouse /wheels --config /root/line.yaml", timeout_s=600)
    assert "0 errors, 0 warnings" in said
    return machine


def files(machine: Machine) -> set[str]:
    """Return the names of all files that are meant to last; what runs and logs changes them all the time."""
    passing = ("proc", "sys", "dev", "run", "tmp", "src", "wheels", "var/log", "var/tmp", "root", "var/lib/mosquitto",
               "var/lib/systemd", "var/cache/ldconfig")  # fmt: skip
    found = (path.relative_to(machine.root).as_posix() for path in _walk(machine.root, passing))
    return set(found)


def _walk(root: Path, passing: tuple[str, ...]) -> Iterator[Path]:
    left = [root]
    while left:
        for path in left.pop().iterdir():
            if path.relative_to(root).as_posix() in passing:
                continue
            yield path
            if path.is_dir() and not path.is_symlink():
                left.append(path)
