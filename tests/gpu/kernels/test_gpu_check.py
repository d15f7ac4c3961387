"""The check on a GPU: refuses where there is none, and runs through on the driver on host memory."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from app.bench.device import check, gpu_tests
from app.bench.device.measure import on_gpu
from app.bench.device.sizes import Sizes
from app.bench.device.there import NO_GPU, gpu_fault
from app.bench.row import Row
from tests.conftest import ROOT
from tests.gpu.fake_driver import EMULATED

PASSED = Row("tests", "marked gpu", got="7 passed", target="pass", met=True)
SMALL = Sizes((96, 54), (32, 32), 1 << 16, burst=2, rounds=2)


def test_without_a_gpu_it_says_so_and_runs_nothing(tmp_path):
    console = Console(record=True, width=120)

    code = check.main(
        console, folder=tmp_path, tests=lambda _: pytest.fail("ran"), measured=lambda *_: pytest.fail("ran")
    )

    assert code == NO_GPU
    assert console.export_text() == "gpu_check: there is no NVIDIA GPU here: nothing was run\n"


@pytest.mark.parametrize(
    ("library", "said"),
    [
        (OSError, "there is no NVIDIA driver here"),
        (999, "the NVIDIA driver refuses (CUDA error 999)"),  # after an update, before a restart
        (100, "there is no NVIDIA GPU here"),
    ],
)
def test_a_driver_that_is_missing_or_broken_is_told_from_a_missing_gpu(library, said):
    def load(name):
        if library is OSError:
            raise OSError(name)
        return SimpleNamespace(cuInit=lambda flags: library)

    assert gpu_fault(load).startswith(said)


def test_all_of_it_runs_on_the_driver_on_host_memory(driver, kernel_library, tmp_path):
    driver.add_kernels(kernel_library)
    console, report = Console(record=True, width=200), tmp_path / "report.json"

    check.main(
        console,
        sizes=SMALL,
        folder=tmp_path,
        json_file=report,
        tests=lambda _: PASSED,
        measured=lambda sizes, folder: on_gpu(sizes, folder, lambda *_: EMULATED),
    )

    rows = [Row(**row) for row in json.loads(report.read_text())["rows"]]
    text = console.export_text()
    parts = {row.part.split(",")[0] for row in rows}
    assert parts == {"tests", "copies", "letterbox", "decode", "a frame", "ONNX Runtime", "gpu_check"}
    assert [row.target for row in rows if row.part == "gpu_check"] == ["< 480 s"]
    assert all(row.what in text for row in rows if row.part == "letterbox")
    sources = [row.what.split(" from ")[1] for row in rows if row.what.endswith(", waited for")]
    assert [source.split(",")[0] for source in sources] == [
        "a camera's registered block",
        "pinned memory",
        "other memory",
        "other memory",
    ]
    checked = [row for row in rows if row.target == "true"]
    assert len(checked) == 4  # replay equals eager, and candidates equal the head's, for two cameras
    assert all(row.met for row in checked)
    assert sum(row.target == "≤ 2 ×" for row in rows) == 13
    assert sum(row.target == "≤ 1.05 ×" for row in rows) == 2


@pytest.mark.parametrize(
    ("test", "is_met", "said"),
    [
        ("def test_it(): assert driver == 'real'", True, "1 passed"),
        ("def test_it(): assert not driver", False, "1 failed"),
        ("def test_it(): pytest.skip('no GPU after all')", False, "1 skipped"),  # nothing was tested
        ("import nothing_of_this_name", False, "error"),
        ("", False, "there is none"),
    ],
)
def test_the_marked_tests_count_only_where_they_passed(tmp_path, capsys, test, is_met, said):
    head = "import os, pytest\ndriver = os.environ['TAKTSIGHT_TEST_DRIVER']\n"
    mark = {"d": "@pytest.mark.gpu\n", "i": "pytestmark = pytest.mark.gpu\n"}.get(test[:1], "")
    (tmp_path / "test_one.py").write_text(head + mark + test)

    row = gpu_tests.row(tmp_path, tmp_path)

    assert row.met is is_met
    assert said in row.got


def test_tests_that_hang_are_ended_and_said_to_have(tmp_path):
    (tmp_path / "test_one.py").write_text(
        "import pytest, threading\n@pytest.mark.gpu\ndef test_it(): threading.Event().wait()"
    )

    row = gpu_tests.row(tmp_path, tmp_path, limit_s=3)

    assert (row.met, row.got) == (False, "not done after 3 s")


def test_the_script_refuses_cleanly_and_explains_itself(tmp_path):
    refused, explained = (
        subprocess.run([ROOT / "scripts" / "gpu_check", *options], capture_output=True, text=True, check=False)
        for options in ([], ["--help"])
    )

    assert (refused.returncode, explained.returncode) == (3, 0)
    assert refused.stdout.strip() == "gpu_check: there is no NVIDIA driver here (libcuda.so.1): nothing was run"
    assert "scripts/gpu_check pack FOLDER" in explained.stdout


def imported(file: Path, seen: set[Path]) -> Iterator[str]:
    """Yield the packages that a file of tests imports when it is read, and the files of tests that it imports."""
    if file in seen or not file.exists():
        return
    seen.add(file)
    nodes = ast.parse(file.read_text(encoding="utf-8")).body
    yield from chain.from_iterable(_names(node, seen) for node in nodes)


def _names(node: ast.stmt, seen: set[Path]) -> Iterator[str]:
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return
    inside = [alias.name for alias in node.names]
    for name in [node.module or ""] if isinstance(node, ast.ImportFrom) else inside:
        yield name.partition(".")[0]
        for one in (name, *(f"{name}.{each}" for each in inside)) if name.startswith("tests") else ():
            yield from imported(ROOT / f"{one.replace('.', '/')}.py", seen)


def test_the_folder_brings_whatever_its_tests_import():
    """Else none of them would run, on the one day on which there is a GPU."""
    packing = (ROOT / "scripts" / "gpu_check").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    extras = {"dependencies", *re.findall(r'extras\["(\w+)"\]', packing)}
    lists = [
        ast.literal_eval(re.search(rf"^{extra} = (\[[^\n]*\]|\[\n.*?\n\])$", project, re.MULTILINE | re.DOTALL)[1])
        for extra in extras
    ]
    brought = {re.split(r"[\[<>=~;]", requirement)[0].lower() for each in lists for requirement in each}
    seen: set[Path] = set()
    files = [ROOT / "tests" / "conftest.py", *(ROOT / "tests" / "gpu").rglob("*.py")]
    names = {name for file in files for name in imported(file, seen)} - set(sys.stdlib_module_names) - {"app", "tests"}

    packages = packages_distributions()
    assert {"numpy", "hypothesis"} <= names
    lacking = {name for name in names if not {each.lower() for each in packages.get(name, [name])} & brought}
    assert lacking <= {"pycuda", "onnxruntime"}, "the packing adds these two by itself"
