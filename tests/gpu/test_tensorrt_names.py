"""What is called of TensorRT is there in every supported version, and the fake has nothing that the real ones have not."""

import ast
from pathlib import Path

import pytest

from app.inference import tensorrt, tensorrt_module
from tests.building.test_api import API, lacking
from tests.gpu import fake_tensorrt

HOLDS = {"_engine": "ICudaEngine", "_running": "IExecutionContext", "runtime": "Runtime"}
"""What attributes and variables of `app/inference/tensorrt.py` hold."""


def used(tree: ast.Module) -> set[tuple[str, str]]:
    """Class and name of everything that the file asks of TensorRT's objects."""
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        if owner in HOLDS:
            found.add((HOLDS[owner], node.attr))
    return found


def test_every_call_is_there_in_every_supported_version() -> None:
    names = used(ast.parse(Path(tensorrt.__file__).read_text(encoding="utf-8")))
    assert len(names) > 14, "the test looks in the wrong place"
    assert {(owner, name): versions for owner, name in names if (versions := lacking(owner, name))} == {}


@pytest.mark.parametrize("name", ["Runtime", "ICudaEngine", "IExecutionContext"])
def test_the_fake_has_no_call_that_a_supported_version_lacks(name: str) -> None:
    calls = [call for call in vars(getattr(fake_tensorrt, name)) if not call.startswith("_")]
    own = {"enqueued", "made_on"}  # how often it ran, and the thread that made it, for tests
    assert {call: versions for call in calls if call not in own and (versions := lacking(name, call))} == {}


def test_types_have_the_names_of_the_real_ones() -> None:
    known = {name for names in API["names"]["DataType"].values() for name in names.split()}
    assert set(tensorrt_module.DTYPES) <= known
    assert {kind.name for kind in fake_tensorrt.DataType} <= known
