"""Installs the product on an emulated arm64 machine, judges the demo's pictures there and here, and compares."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from tests.aarch64.machine import Emulated, processor_of_this, wheelhouse, wheels_for_tests
from tests.aarch64.side_by_side import PIXELS, SCORE, Row, compare, read_results
from tests.conftest import ROOT

UNIT_TESTS = ["tests/test_letterbox.py", "tests/test_bgr.py", "tests/test_judge.py", "tests/decode"]
TEST_PACKAGES = ["pytest", "pytest-timeout", "hypothesis"]
THERE = "/opt/taktsight/current/bin"
PICTURE_S = 60
"""How long a picture may take there at most, on a busy machine."""


def main() -> int:
    """Run it all; return 0 only if every verdict is the same."""
    asked = _arguments()
    console = Console()
    if processor_of_this() != "x86_64":
        console.print("this compares an emulated arm64 with an x86-64: run it on the latter")
        return 2
    with tempfile.TemporaryDirectory(prefix="taktsight-aarch64-") as name:
        folder = Path(name)
        console.print("a Debian 12 for arm64, and a wheelhouse for it …")
        machine = Emulated(folder, wheelhouse())
        _timed(console, "scripts/install.sh there", lambda: _install(machine, folder))
        pictures = sorted((ROOT / "samples/covers").glob("*.jpg"))[: asked.pictures]
        here = _timed(console, f"{len(pictures)} pictures here", lambda: _judge_here(folder, pictures, asked.model))
        there = _timed(
            console, f"{len(pictures)} pictures there", lambda: _judge_there(machine, folder, pictures, asked.model)
        )
        rows = compare(read_results(here), read_results(there))
        _show(console, rows)
        faults = sum(bool(row.faults) for row in rows) + (len(rows) != len(pictures))
        if asked.unit_tests:
            faults += _timed(console, "the unit tests there", lambda: _unit_tests(machine, folder, console))
    return min(faults, 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/test-aarch64", description=__doc__)
    parser.add_argument("--pictures", type=int, default=48, help="how many of the 48 covers (default: all)")
    parser.add_argument(
        "--model", choices=["320", "640"], default="320", help="the small model, or four times the work"
    )
    parser.add_argument("--unit-tests", action="store_true", help=f"also {', '.join(UNIT_TESTS)} there")
    return parser.parse_args()


def _timed(console: Console, what: str, work: Any) -> Any:
    began_s = time.monotonic()
    result = work()
    console.print(f"{what}: {time.monotonic() - began_s:.0f} s", highlight=False)
    return result


def _install(machine: Emulated, folder: Path) -> None:
    log = folder / "install.log"
    # As on the floor: no network, and root's own script.
    code = machine.run("/src/scripts/install.sh", "--wheelhouse", "/wheels", "--extra", "cpu", log=log, timeout_s=1500)
    _must(code, log)


def _config(pictures: str, model: str, results: str) -> str:
    """Return configs/folder.yaml with other pictures, another model and another place for the results."""
    config = yaml.safe_load((ROOT / "configs/folder.yaml").read_text(encoding="utf-8"))
    config["cameras"]["covers"]["source"]["path"] = pictures
    config["models"]["covers"]["path"] = model
    config["jsonl"]["path"] = results
    del config["evidence"]
    return yaml.safe_dump(config)


def _judge_here(folder: Path, pictures: list[Path], model: str) -> Path:
    chosen, results, log = folder / "pictures", folder / "here.jsonl", folder / "here.log"
    _copy(pictures, chosen)
    config = folder / "here.yaml"
    config.write_text(_config(str(chosen), str(ROOT / f"engines/covers_{model}.onnx"), str(results)))
    command = [sys.executable, "-m", "app", "run", str(config)]
    with log.open("ab") as printed:
        done = subprocess.run(command, cwd=ROOT, stdout=printed, stderr=printed, check=False, timeout=600)
    _must(done.returncode, log)
    return results


def _judge_there(machine: Emulated, folder: Path, pictures: list[Path], model: str) -> Path:
    home, log = machine.root / "root", folder / "there.log"
    _copy(pictures, home / "pictures")
    (home / "there.yaml").write_text(
        _config("/root/pictures", f"/src/engines/covers_{model}.onnx", "/root/there.jsonl")
    )
    limit_s = 300 + PICTURE_S * len(pictures)
    _must(machine.run(f"{THERE}/taktsight", "run", "/root/there.yaml", log=log, timeout_s=limit_s), log)
    return home / "there.jsonl"


def _copy(pictures: list[Path], folder: Path) -> None:
    folder.mkdir()
    for picture in pictures:
        shutil.copy(picture, folder)


def _unit_tests(machine: Emulated, folder: Path, console: Console) -> int:
    log, python = folder / "tests.log", f"{THERE}/python"
    shutil.copytree(wheels_for_tests(TEST_PACKAGES), machine.root / "root/test-wheels")
    pip = ["-m", "pip", "install", "--quiet", "--no-index", "--find-links", "/root/test-wheels", *TEST_PACKAGES]
    _must(machine.run(python, *pip, log=log, timeout_s=900), log)
    # Fixtures that all tests share need packages that this machine has not; those of the folder itself are enough. The
    # checkout can't be written to from there.
    options = ["-q", "--confcutdir=tests/decode", "--ignore=tests/decode/test_docs.py", "-p", "no:cacheprovider"]
    tests = ["env", "HYPOTHESIS_STORAGE_DIRECTORY=/root/hypothesis", python, "-m", "pytest", *options, *UNIT_TESTS]
    code = machine.run(*tests, "-o", "timeout=0", log=log, timeout_s=1800, folder="/src")
    console.print(*log.read_text(errors="replace").splitlines()[-20:], sep="\n", markup=False, highlight=False)
    return min(code, 1)


def _must(code: int, log: Path) -> None:
    if code != 0:
        sys.stderr.write(log.read_text(errors="replace")[-4000:])
        raise SystemExit(
            f"{log.stem}: exit code {code}, see above" + (", it took too long" if code in (124, 137) else "")
        )


def _show(console: Console, rows: list[Row]) -> None:
    table = Table("picture", "x86-64", "aarch64", "boxes", "Δ score", "Δ px", "")
    for row in rows:
        faults = "; ".join(row.faults)
        numbers = (str(row.boxes), f"{row.score:.4f}", f"{row.pixels:.2f}")
        table.add_row(row.picture, *row.verdicts, *numbers, faults, style="red" if faults else None)
    console.print(table)
    same = sum(row.verdicts[0] == row.verdicts[1] for row in rows)
    worst = max((row.score for row in rows), default=0), max((row.pixels for row in rows), default=0)
    faulty = sum(bool(row.faults) for row in rows)
    console.print(
        f"{same} of {len(rows)} verdicts are the same, {sum(row.boxes for row in rows)} boxes are apart by at most "
        f"{worst[0]:.4f} of score ({SCORE:g} allowed) and {worst[1]:.2f} px ({PIXELS:g} allowed); {faulty} pictures at fault",
        highlight=False,
    )


if __name__ == "__main__":
    sys.exit(main())
