"""Who may import whom: the table of docs/architecture.md, and a package that imports on a bare machine."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

LAYERS = [
    {"errors", "trace", "frame", "detections", "verdict", "model", "letterbox", "boxes", "ledger", "picture_memory"},
    {"config", "bgr", "background"},
    {"gpu"},
    {
        *("capture", "latest", "schedule", "preprocess", "inference", "decode", "regions", "gate", "refine", "judge"),
        *("debounce", "publish", "latency", "worker", "log", "steady", "agreement", "notify", "trigger", "microbatch"),
    },
    {"engine"},
    {"static"},
    {"fused"},
    {"pipeline", "golden", "probation"},
    {"shadow"},
    {"inspector"},
    {"service", "figures", "health", "evidence"},
    {"check", "heartbeat"},
    {"wiring"},
    {
        "bench",
        "building",
        "cli",
        "__main__",
        "runner",
        "model_commands",
        "model_cli",
        "broker_option",
        "compare",
        "status",
        "demo",
        "board",
        "watch",
        "broker",
        "dashboard",
        "traces",
        "replay",
        "tune",
        "doctor",
        "plan",
    },
]
TOP = len(LAYERS) - 1
LAYER_OF = {name: number for number, names in enumerate(LAYERS) for name in names}

BETWEEN_STEPS = {("judge", "regions"), ("gate", "regions")}
"""Steps that share one piece of geometry; all other steps know nothing of one another."""

PIPELINE_MAY_NAME = {"gate"}
"""Pure steps that the pipeline calls directly; of the packages it knows only base.py."""

TOOLS = {"bench", "building", "watch", "broker", "demo", "board", "traces", "model_commands", "doctor"}
"""Loaded by their own command only, so they may name leaves at their top."""

HEAVY = {
    "onnxruntime",
    "paho",
    "av",
    "tensorrt",
    "tensorrt_rtx",
    "tensorrt_rtx_bindings",
    "pycuda",
    "cuda",
    "openvino",
    "tritonclient",
    "gi",
    "amqtt",
    "prometheus_client",
}


def modules() -> Iterator[tuple[Path, str]]:
    """Every file of the package with its part: its name, or its folder's."""
    for path in sorted((ROOT / "app").rglob("*.py")):
        part = path.relative_to(ROOT / "app").parts[0].removesuffix(".py")
        if part != "__init__":
            yield path, part


def imports(path: Path, *, top_level_only: bool = False) -> Iterator[tuple[int, str]]:
    """Line and full name of each import, those for the type checker alone left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in tree.body if top_level_only else ast.walk(tree):
        if node in hidden:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from ((node.lineno, name if node.module == "app" else node.module) for name in names)


def app_imports(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line, part and full name of each import of our own."""
    for line, name in imports(path):
        if name.startswith("app."):
            yield line, name.split(".")[1], name


def test_every_file_of_the_package_has_a_layer() -> None:
    assert {part for _, part in modules()} <= set(LAYER_OF)


def test_imports_go_down_the_layers_only() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path, part in modules()
        for line, other, name in app_imports(path)
        if other != part
        and LAYER_OF[other] >= LAYER_OF[part]
        and LAYER_OF[part] not in (0, TOP)
        and (part, other) not in BETWEEN_STEPS
    ]
    assert wrong == []


def test_records_import_records_and_numpy_only() -> None:
    allowed = {"numpy", "app", "typing_extensions", *sys.stdlib_module_names}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path, part in modules()
        if LAYER_OF[part] == 0
        for line, name in imports(path)
        if name.split(".")[0] not in allowed or (name.startswith("app.") and LAYER_OF[name.split(".")[1]] != 0)
    ]
    assert wrong == []


def test_the_pipeline_knows_only_the_seams() -> None:
    path = ROOT / "app" / "pipeline.py"
    steps = [(line, other, name) for line, other, name in app_imports(path) if LAYER_OF[other] == 3]
    wrong = [
        f"{line}: {name}" for line, other, name in steps if not (name.endswith(".base") or other in PIPELINE_MAY_NAME)
    ]
    assert wrong == []


def test_no_leaf_is_imported_at_the_top_of_a_file_outside_its_package() -> None:
    heavy_files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path, part in modules()
        if LAYER_OF[part] == 3 and any(name.split(".")[0] in HEAVY for _, name in imports(path))
    }
    assert heavy_files, "no leaf found: the test looks in the wrong place"
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path, part in modules()
        for line, name in imports(path, top_level_only=True)
        if name in heavy_files and part not in TOOLS and name.split(".")[1] != part
    ]
    assert wrong == []


def test_there_is_no_import_cycle() -> None:
    graph = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): {name for _, name in imports(path, top_level_only=True)}
        for path, _ in modules()
    }
    done: set[str] = set()

    def walk(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name in done or name not in graph:
            return
        for other in graph[name]:
            walk(other, (*trail, name))
        done.add(name)

    for name in graph:
        walk(name, ())


@pytest.mark.parametrize("module", ["app", "app.cli", "app.wiring", "app.service", "app.config.load", "app.check"])
def test_the_package_imports_without_the_heavy_packages(module: str) -> None:
    code = (
        "import sys, importlib.abc\n"
        f"heavy = {sorted(HEAVY)!r}\n"
        "class Bare(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in heavy: raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Bare())\n"
        f"import {module}\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert result.returncode == 0, result.stderr
