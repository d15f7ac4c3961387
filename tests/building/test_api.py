"""Our sources use no call of TensorRT that a supported version lacks, unless they ask first whether it is there.

`api.json` lists the names that the versions have, as read from their Python modules.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
API = json.loads((Path(__file__).parent / "api.json").read_text())

VARIABLES = {
    "builder": "Builder",
    "cache": "ITimingCache",
    "config": "IBuilderConfig",
    "context": "IExecutionContext",
    "engine": "ICudaEngine",
    "inspector": "EngineInspector",
    "network": "INetworkDefinition",
    "parser": "OnnxParser",
    "profile": "IOptimizationProfile",
    "runtime": "Runtime",
    "tensor": "ITensor",
}
"""What a variable holds in the files that talk to TensorRT, by its name."""

MODULE = {"trt", "tensorrt", "tensorrt_rtx"}


def lacking(owner: str, name: str) -> list[str]:
    """Return the supported versions in which a class (the module: "") has no such name."""
    masks = [mask for mask, names in API["names"].get(owner, {}).items() if name in names.split()]
    has = masks[0] if masks else "0" * len(API["versions"])
    return [version for version, there in zip(API["versions"], has, strict=True) if there == "0"]


def talks_to_tensorrt(tree: ast.Module) -> bool:
    """Whether a file uses more of TensorRT's module than its name and version."""
    chains = [chain(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return any(parts[:1] and parts[0] in MODULE and not parts[1].startswith("__") for parts in chains)


def chain(node: ast.expr) -> list[str]:
    """Return the names of `a.b.c`; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def asked_for(function: ast.AST) -> set[str]:
    """Return the names that a function looks for with `hasattr` or `getattr` before it uses them."""
    return {
        call.args[1].value
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in ("hasattr", "getattr")
        and len(call.args) > 1
        and isinstance(call.args[1], ast.Constant)
    }


def uses(tree: ast.AST, asked: frozenset[str] = frozenset()) -> Iterator[tuple[int, str, str, bool]]:
    """Yield line, class, name, and whether it was asked for, of each use of TensorRT."""
    for node in ast.iter_child_nodes(tree):
        known = asked | asked_for(node) if isinstance(node, ast.FunctionDef) else asked
        if isinstance(node, ast.Attribute) and (parts := chain(node)):
            yield from ((node.lineno, owner, name, name in known) for owner, name in owners(parts))
        yield from uses(node, frozenset(known))


def owners(parts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield class and name of each step of `trt.A.b` or `config.b` that can be told."""
    if parts[0] in MODULE:
        yield "", parts[1]
        if len(parts) > 2 and parts[1] in API["names"]:
            yield parts[1], parts[2]
    elif parts[0] in VARIABLES and len(parts) > 1:
        yield VARIABLES[parts[0]], parts[1]


def wrong_uses(source: str) -> list[str]:
    """Return the uses in a source that some supported version lacks."""
    tree = ast.parse(source)
    if not talks_to_tensorrt(tree):
        return []
    return sorted(
        f"{line}: {owner or 'module'}.{name} is missing in {', '.join(lacking(owner, name))}"
        for line, owner, name, was_asked in set(uses(tree))
        if not was_asked and not name.startswith("__") and lacking(owner, name)
    )


def sources() -> list[Path]:
    files = [*(ROOT / "app").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]
    return [file for file in files if talks_to_tensorrt(ast.parse(file.read_text()))]


def test_the_sources_that_talk_to_tensorrt_are_looked_at() -> None:
    assert ROOT / "app" / "building" / "network.py" in sources()


@pytest.mark.parametrize("file", sources(), ids=lambda file: str(file.relative_to(ROOT)))
def test_no_call_is_used_that_a_supported_version_lacks(file: Path) -> None:
    assert wrong_uses(file.read_text()) == []


# What must be found, and what must not.
SAMPLES = [
    ("config.set_flag(trt.BuilderFlag.FP16)", 1),  # gone in 11
    ("trt.BuilderFlag.STRICT_TYPES", 1),  # gone in 10
    ("trt.IInt8EntropyCalibrator2", 1),
    ("x = trt.Builder; config.max_workspace_size = 1", 1),
    ("x = trt.Builder; context.execute_async_v2()", 1),
    ("trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH", 1),
    ("def f():\n    if hasattr(trt.BuilderFlag, 'FP16'):\n        config.set_flag(trt.BuilderFlag.FP16)", 0),
    ("def f():\n    hasattr(x, 'FP16')\ndef g():\n    trt.BuilderFlag.FP16", 1),  # asked somewhere else
    ("trt.BuilderFlag.TF32; context.execute_async_v3(0)", 0),
    ("config.max_workspace_size", 0),  # of a file that has nothing to do with TensorRT
    ("trt.__version__", 0),
]


@pytest.mark.parametrize(("source", "found"), SAMPLES)
def test_the_check_finds_what_it_must(source: str, found: int) -> None:
    assert len(wrong_uses(source)) == found


def test_the_list_is_that_of_the_module_that_is_installed() -> None:
    import tensorrt_rtx_bindings as real  # noqa: PLC0415 - only here

    if f"tensorrt_rtx {real.__version__}" not in API["versions"]:
        return  # a newer one has more, and what it lacks the builds above show
    for owner in ("Builder", "IBuilderConfig", "OnnxParser", "BuilderFlag"):
        listed = {name for mask, names in API["names"][owner].items() if mask[-1] == "1" for name in names.split()}
        assert listed <= set(dir(getattr(real, owner)))
