"""No answer of CUDA goes unread: every call of its libraries stands where its code is looked at, in all our sources."""

import ast
from collections.abc import Iterator

import pytest

from tests.conftest import ROOT

APP = ROOT / "app"
CHECKER = APP / "gpu" / "checked.py"
"""Reads the codes of cuda-bindings, which raises nothing; PyCUDA raises, and a block of `translated` makes it ours."""

METHODS = {"get_device_pointer", "get_function", "_launch_kernel", "retain_primary_context", "get_attribute"}
"""Of PyCUDA's objects, which are told by their names alone."""


def of_cuda(node: ast.Call) -> str:
    """Return the name of what is called of PyCUDA or cuda-bindings; empty for other calls."""
    called = node.func
    if not isinstance(called, ast.Attribute):
        return ""
    owner = called.value
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    module = owner.id if isinstance(owner, ast.Name) else ""
    is_bindings = module == "driver" and called.attr.startswith("cu")
    return called.attr if module == "cuda" or is_bindings or called.attr in METHODS else ""


def unread(node: ast.AST, *, is_translated: bool = False) -> Iterator[str]:
    """Yield line and name of each call outside of a block of `translated`; cuda-bindings may be called nowhere here."""
    for child in ast.iter_child_nodes(node):
        inside = is_translated
        if isinstance(child, ast.With):
            calls = [item.context_expr for item in child.items if isinstance(item.context_expr, ast.Call)]
            inside |= any(isinstance(call.func, ast.Name) and call.func.id == "translated" for call in calls)
        if isinstance(child, ast.Call) and (name := of_cuda(child)) and (not inside or name.startswith("cu")):
            yield f"{child.lineno}: {name}"
        yield from unread(child, is_translated=inside)


def sources() -> list[str]:
    """Files that import one of the two libraries, beside the checker itself."""
    texts = {path: path.read_text(encoding="utf-8") for path in APP.rglob("*.py") if path != CHECKER}
    return [
        str(path.relative_to(ROOT))
        for path, text in sorted(texts.items())
        if "pycuda.driver" in text or "from cuda.bindings import driver" in text
    ]


def test_the_files_that_talk_to_cuda_are_found():
    assert {f"app/gpu/{name}.py" for name in ("context", "graph", "memory", "module", "stream")} <= set(sources())


@pytest.mark.parametrize("file", sources())
def test_every_call_s_answer_is_looked_at(file):
    assert list(unread(ast.parse((ROOT / file).read_text(encoding="utf-8")))) == []


# What must be found, and what must not.
SAMPLES = [
    ("cuda.mem_alloc(1)", 1),
    ("with translated('x'):\n    cuda.mem_alloc(1)", 0),
    ("with other('x'):\n    cuda.mem_alloc(1)", 1),
    ("driver.cuMemAlloc(1)", 1),
    ("with translated('x'):\n    driver.cuMemAlloc(1)", 1),  # it raises nothing that could be translated
    ("call('cuMemAlloc', 1)", 0),
    ("driver.CUstreamCaptureMode(1)", 0),  # a type
    ("self.memory.get_device_pointer()", 1),
    ("x = cuda.Context", 0),
]


@pytest.mark.parametrize(("source", "found"), SAMPLES)
def test_the_check_finds_what_it_must(source, found):
    assert len(list(unread(ast.parse(source)))) == found
