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

PARAMETERS = {
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
"""What a parameter that is annotated as one of `UNTYPED` holds, by its name."""

UNTYPED = {"Trt", "Any"}
"""How our sources write the type of what TensorRT gives, which has no types."""

MADE_BY = {
    "Builder": "Builder",
    "OnnxParser": "OnnxParser",
    "Runtime": "Runtime",
    "create_builder_config": "IBuilderConfig",
    "create_engine_inspector": "EngineInspector",
    "create_execution_context": "IExecutionContext",
    "create_network": "INetworkDefinition",
    "create_optimization_profile": "IOptimizationProfile",
    "create_timing_cache": "ITimingCache",
    "deserialize_cuda_engine": "ICudaEngine",
    "get_timing_cache": "ITimingCache",
}
"""What a call of this name returns, whatever the variable is called that takes it."""

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


def partial_names() -> dict[str, list[str]]:
    """Return the names that tell by themselves that a call is not in all versions, with the versions that lack it."""
    everywhere = {
        name
        for names in API["names"].values()
        for mask, some in names.items()
        if "0" not in mask
        for name in some.split()
    }
    found = {name: list(API["versions"]) for name in API["gone"].split()}
    for owner, names in API["names"].items():
        for mask, some in names.items():
            found |= {name: lacking(owner, name) for name in some.split() if "0" in mask and name not in everywhere}
    return {name: versions for name, versions in found.items() if "_" in name}


def variables(function: ast.AST) -> dict[str, str]:
    """Return what the variables and attributes that a function assigns or is given hold, by their dotted name."""
    found = {}
    for node in ast.walk(function):
        if isinstance(node, ast.arg) and isinstance(node.annotation, ast.Name) and node.annotation.id in UNTYPED:
            found[node.arg] = PARAMETERS.get(node.arg, "")
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            called = node.value.func
            made = MADE_BY.get(called.attr, "") if isinstance(called, ast.Attribute) else ""
            found |= {".".join(chain(target)): made for target in node.targets if made and chain(target)}
    return {name: owner for name, owner in found.items() if owner}


def everywhere_held(tree: ast.Module) -> dict[str, str]:
    """Return what the attributes of a file's objects hold, and its own variables; not those of a function."""
    own = ast.Module([node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)], [])
    return {name: owner for name, owner in variables(tree).items() if "." in name} | variables(own)


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


def uses(tree: ast.AST, holds: dict[str, str], asked: frozenset[str] = frozenset()) -> Iterator[tuple[int, str, str]]:
    """Yield line, class and name of each use of TensorRT that nobody asked for first; class "?" where it can't be told."""
    for node in ast.iter_child_nodes(tree):
        known, held = asked, holds
        if isinstance(node, ast.FunctionDef):
            known, held = asked | asked_for(node), {**holds, **variables(node)}
        if isinstance(node, ast.Attribute) and node.attr not in known and not node.attr.startswith("__"):
            yield from ((node.lineno, owner, node.attr) for owner in owners(chain(node), held))
        yield from uses(node, held, frozenset(known))


def owners(parts: list[str], holds: dict[str, str]) -> Iterator[str]:
    """Yield the class that the last name of `trt.A.b` or `config.b` belongs to, and "?" for what the name alone tells."""
    yield "?"
    if len(parts) == 2 and parts[0] in MODULE:
        yield ""
    elif len(parts) == 3 and parts[0] in MODULE and parts[1] in API["names"]:
        yield parts[1]
    elif ".".join(parts[:-1]) in holds:
        yield holds[".".join(parts[:-1])]


def wrong_uses(source: str) -> list[str]:
    """Return the uses in a source that some supported version lacks."""
    tree = ast.parse(source)
    if not talks_to_tensorrt(tree):
        return []
    missing = {
        (line, name): PARTIAL.get(name, []) if owner == "?" else lacking(owner, name)
        for line, owner, name in sorted(uses(tree, everywhere_held(tree)))
        if (owner == "?" and name in PARTIAL) or (owner != "?" and lacking(owner, name))
    }
    return [f"{line}: {name} is missing in {', '.join(versions)}" for (line, name), versions in missing.items()]


PARTIAL = partial_names()


TALKING = {
    "building/network.py": {"OnnxParser", "build_serialized_network", "set_memory_pool_limit", "set_shape"},
    "building/inspect_engine.py": {"get_tensor_profile_shape", "get_tensor_mode", "create_engine_inspector"},
    "inference/tensorrt.py": {"Runtime", "deserialize_cuda_engine"},  # the rest: tests/gpu/test_tensorrt_names.py
}
"""Some calls that are known to be there, so that a check that looks past them is seen."""


def uses_in(file: Path) -> Iterator[tuple[int, str, str]]:
    tree = ast.parse(file.read_text())
    return uses(tree, everywhere_held(tree))


def sources() -> list[Path]:
    files = [*(ROOT / "app").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]
    return [file for file in files if talks_to_tensorrt(ast.parse(file.read_text()))]


def test_the_sources_that_talk_to_tensorrt_are_looked_at() -> None:
    assert {ROOT / "app" / path for path in TALKING} <= set(sources())
    seen = {path: {name for _, owner, name in uses_in(ROOT / "app" / path) if owner != "?"} for path in TALKING}
    assert {path: sorted(names - seen[path]) for path, names in TALKING.items() if names - seen[path]} == {}


@pytest.mark.parametrize("file", sources(), ids=lambda file: str(file.relative_to(ROOT)))
def test_no_call_is_used_that_a_supported_version_lacks(file: Path) -> None:
    assert wrong_uses(file.read_text()) == []


# What must be found, and what must not.
SAMPLES = [
    ("config.set_flag(trt.BuilderFlag.FP16)", 1),  # gone in 11
    ("trt.BuilderFlag.STRICT_TYPES", 1),  # gone in 10
    ("trt.IInt8EntropyCalibrator2", 1),
    ("x = trt.Builder; config.max_workspace_size = 1", 1),  # the name alone tells
    ("x = trt.Builder; anything.execute_async_v2()", 1),
    ("x = trt.Builder; self.engine.get_binding_name(0)", 1),
    ("y = trt.Builder(x).create_network(0); y.colour", 1),  # it never had one
    ("self.engine = trt.Runtime(x).deserialize_cuda_engine(y); self.engine.device_memory_size", 1),  # gone in 11
    ("x = trt.Builder\ndef f(config: Trt): config.colour", 1),
    ("x = trt.Builder\ndef f(engine: Any): engine.colour", 1),
    ("x = trt.Builder\ndef f(config: Config): config.colour", 0),  # somebody else's
    ("trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH", 1),
    ("def f():\n    if hasattr(trt.BuilderFlag, 'FP16'):\n        config.set_flag(trt.BuilderFlag.FP16)", 0),
    ("def f():\n    hasattr(x, 'FP16')\ndef g():\n    trt.BuilderFlag.FP16", 1),  # asked somewhere else
    ("trt.BuilderFlag.TF32; context.execute_async_v3(0)", 0),
    ("config.max_workspace_size, tensor.num_bindings", 0),  # of a file that has nothing to do with TensorRT
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
