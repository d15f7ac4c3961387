"""Weights in other files: read from the model's own folder, and from nowhere else."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from app.config.sections import Model
from app.errors import ModelError
from app.inference.elsewhere import confined, locations
from app.inference.model_file import read_model
from app.inference.onnxruntime import OnnxBackend

WEIGHTS = np.arange(1500, dtype=np.float32).reshape(1, 5, 300)


@pytest.fixture
def model_in(tmp_path: Path, save_constant: Callable[..., Path]) -> Callable[[str], Path]:
    """Save a model whose weights are said to be in a file of this name; the file itself is beside it as weights.bin."""

    def make(name: str) -> Path:
        folder = tmp_path / "models"
        folder.mkdir()
        whole = onnx.load(save_constant(output=WEIGHTS, metadata={"names": "['a']"}))
        path = folder / "model.onnx"
        onnx.save_model(whole, path, save_as_external_data=True, location="weights.bin", size_threshold=100)
        saved = onnx.load(path, load_external_data=False)
        (entry,) = [e for t in saved.graph.initializer for e in t.external_data if e.key == "location"]
        entry.value = name
        path.write_bytes(saved.SerializeToString())
        return path

    return make


def test_weights_beside_the_model_are_used(model_in: Callable[[str], Path], tmp_path: Path) -> None:
    path = model_in("weights.bin")
    with OnnxBackend(read_model(path), Model(path=str(path)), cache=tmp_path / "cache") as backend:
        outputs = backend.infer({"images": np.zeros((1, 3, 8, 8), np.float32)})
        np.testing.assert_array_equal(outputs["output0"], WEIGHTS)


def test_weights_in_a_folder_below_are_used(model_in: Callable[[str], Path]) -> None:
    path = model_in("data/weights.bin")
    (path.parent / "data").mkdir()
    (path.parent / "weights.bin").rename(path.parent / "data" / "weights.bin")
    assert read_model(path).names == ("a",)


OUTSIDE = [
    # what a model says; all name a file that is there and could be read
    "../secret.bin",
    "data/../../secret.bin",
    "./../secret.bin",
    "..\\secret.bin",
    "{folder}/secret.bin",
    "C:\\secret.bin",
    "\\\\server\\share\\secret.bin",
    "",
    "a\0b",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_weights_outside_the_folder_are_refused_before_anybody_opens_them(
    model_in: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    (tmp_path / "secret.bin").write_bytes(WEIGHTS.tobytes())
    path = model_in(name.format(folder=tmp_path))
    (path.parent / "data").mkdir()
    with pytest.raises(ModelError, match="only a file in the model's own folder") as caught:
        read_model(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("link", ["file", "folder"])
def test_a_link_out_of_the_folder_is_refused(model_in: Callable[[str], Path], tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.bin").write_bytes(WEIGHTS.tobytes())
    path = model_in("inner/secret.bin" if link == "folder" else "linked.bin")
    if link == "folder":
        (path.parent / "inner").symlink_to(outside)
    else:
        (path.parent / "linked.bin").symlink_to(outside / "secret.bin")
    with pytest.raises(ModelError, match="a link out of the model's folder"):
        read_model(path)


def test_a_link_inside_the_folder_is_followed(model_in: Callable[[str], Path]) -> None:
    path = model_in("linked.bin")
    (path.parent / "linked.bin").symlink_to("weights.bin")
    assert read_model(path).names == ("a",)


def test_a_folder_that_is_a_link_itself_is_no_way_out(model_in: Callable[[str], Path], tmp_path: Path) -> None:
    model_in("weights.bin")
    (tmp_path / "current").symlink_to("models")
    assert read_model(tmp_path / "current" / "model.onnx").names == ("a",)


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


ODD = [
    # what lies where the weights should be, and what is said
    (lambda path: None, "not there"),
    (make_pipe, "no file"),  # reading it would wait for ever
    (lambda path: path.mkdir(), "no file"),
    (lambda path: path.symlink_to(path.name), "can't be read"),  # goes round
]


@pytest.mark.parametrize(("make", "said"), ODD)
def test_what_is_no_file_is_refused(model_in: Callable[[str], Path], make: Callable[[Path], None], said: str) -> None:
    path = model_in("odd.bin")
    make(path.parent / "odd.bin")
    with pytest.raises(ModelError, match=said):
        read_model(path)


def external(name: str) -> onnx.TensorProto:
    tensor = numpy_helper.from_array(np.zeros(4, np.float32), "w")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=name)
    return tensor


def graph_with(node: onnx.NodeProto, initializers: list[onnx.TensorProto] = []) -> onnx.GraphProto:  # noqa: B006 - read only
    return helper.make_graph([node], "g", [], [], initializers)


def in_a_branch() -> onnx.ModelProto:
    inner = graph_with(helper.make_node("Identity", ["w"], ["y"]), [external("deep")])
    return helper.make_model(graph_with(helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)))


def in_a_constant() -> onnx.ModelProto:
    return helper.make_model(graph_with(helper.make_node("Constant", [], ["y"], value=external("deep"))))


def in_a_function() -> onnx.ModelProto:
    node = helper.make_node("Constant", [], ["y"], value=external("deep"))
    function = helper.make_function("d", "F", [], ["y"], [node], [helper.make_opsetid("", 17)])
    return helper.make_model(graph_with(helper.make_node("F", [], ["y"], domain="d")), functions=[function])


def in_a_sparse_tensor() -> onnx.ModelProto:
    model = helper.make_model(graph_with(helper.make_node("Identity", ["w"], ["y"])))
    model.graph.sparse_initializer.add(values=external("deep"), dims=[4])
    return model


def in_a_list() -> onnx.ModelProto:
    node = helper.make_node("Odd", [], ["y"])
    node.attribute.add(name="many", type=onnx.AttributeProto.TENSORS).tensors.append(external("deep"))
    return helper.make_model(graph_with(node))


PLACES = [in_a_branch, in_a_constant, in_a_function, in_a_sparse_tensor, in_a_list]


@pytest.mark.parametrize("place", PLACES)
def test_weights_are_found_wherever_a_model_may_have_them(place: Callable[[], onnx.ModelProto]) -> None:
    assert locations(place().SerializeToString()) == ("deep",)


def wrapped(body: bytes, number: int) -> bytes:
    """Make a message the field of one around it."""
    size, rest = b"", len(body)
    while rest >= 128:
        size, rest = size + bytes([rest & 127 | 128]), rest >> 7
    return bytes([number << 3 | 2]) + size + bytes([rest]) + body


def test_a_model_nested_deeper_than_python_can_recurse_is_walked_to_its_end() -> None:
    body = graph_with(helper.make_node("Identity", ["w"], ["y"]), [external("deep")]).SerializeToString()
    for _ in range(3000):  # a graph in an attribute of a node of a graph
        body = wrapped(wrapped(wrapped(body, 6), 5), 1)
    assert locations(wrapped(body, 7)) == ("deep",)


@given(st.text(max_size=60))
def test_whatever_a_model_says_nothing_outside_its_folder_comes_back(name: str) -> None:
    folder = Path(__file__).parent
    found: tuple[Path, ...] = ()
    with contextlib.suppress(ModelError):
        found = confined(folder / "model.onnx", [name])
    assert all(path.resolve().is_relative_to(folder) for path in found)
