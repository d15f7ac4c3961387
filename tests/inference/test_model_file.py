"""A model file tells what it is, or why it can't be used."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from app.errors import ModelError
from app.inference.model_file import check_bytes, read_model
from app.model import TensorSpec

NMS = """
    agraph (float[1,20,4] boxes, float[1,2,20] scores) => (int64[n,3] picked)
    <int64[1] most = {{{most}}}, float[1] iou = {{0.5}}, float[1] least = {{0.1}}>
    {{ picked = NonMaxSuppression({inputs}) }}
"""


def test_the_shipped_model_tells_its_tensors_names_and_hash(shipped_model: Path) -> None:
    info = read_model(shipped_model)
    assert info.inputs == (TensorSpec("images", (1, 3, 480, 640), "float32"),)
    assert info.outputs == (TensorSpec("output0", (1, 9, 6300), "float32"),)
    assert info.names == ("cover", "screw", "hole", "brass", "scratch")
    assert info.metadata["imgsz"] == "[480, 640]"
    assert info.sha256 == hashlib.sha256(shipped_model.read_bytes()).hexdigest()
    assert info.warnings == ()


def test_mdl_06_configured_names_reach_the_info_with_a_warning(shipped_model: Path) -> None:
    info = read_model(shipped_model, names=["cover", "screw", "gap", "brass", "scratch"])
    assert info.names is not None
    assert info.names[2] == "gap"
    assert "'hole' → 'gap'" in info.warnings[0]


def test_mdl_07_names_with_a_call_in_them_are_not_run(save_constant: Callable[..., Path], tmp_path: Path) -> None:
    pwned = tmp_path / "pwned"
    path = save_constant(metadata={"names": f"__import__('os').system('touch {pwned}')"})
    info = read_model(path)
    assert info.names is None
    assert "can't be read" in info.warnings[0]
    assert not pwned.exists()


@pytest.mark.parametrize(
    ("onnx_type", "dtype"),
    [(TensorProto.FLOAT16, "float16"), (TensorProto.UINT8, "uint8"), (TensorProto.DOUBLE, "float64")],
)
def test_mdl_01_the_input_type_is_read_from_the_file(
    save_constant: Callable[..., Path], onnx_type: int, dtype: str
) -> None:
    assert read_model(save_constant(dtype=onnx_type)).inputs[0].dtype == dtype


@pytest.mark.parametrize("shape", [("batch", 3, "height", "width"), (None, 3, None, None), (-1, 3, -1, -1)])
def test_mdl_03_open_axes_are_none_however_the_file_writes_them(
    save_constant: Callable[..., Path], shape: tuple[object, ...]
) -> None:
    assert read_model(save_constant(shape=shape)).inputs[0].shape == (None, 3, None, None)


def test_mdl_04_a_fixed_batch_is_warned_of(save_constant: Callable[..., Path]) -> None:
    info = read_model(save_constant(shape=(4, 3, 8, 8), metadata={"names": "['a']"}))
    (warning,) = info.warnings
    assert "fixed batch of 4" in warning


@pytest.mark.parametrize(
    ("faulty", "found", "known"),
    [
        ({"ir_version": 99}, "IR version 99", "reads up to"),
        ({"opset": 99}, "opset 99", "knows up to"),
    ],
)
def test_mdl_09_a_file_that_is_too_new_names_both_versions_and_the_way_out(
    save_constant: Callable[..., Path], faulty: dict[str, int], found: str, known: str
) -> None:
    with pytest.raises(ModelError) as caught:
        read_model(save_constant(**faulty))
    text = str(caught.value)
    assert found in text
    assert known in text
    assert ort.__version__ in text
    assert "or install a newer onnxruntime" in text
    assert "\n" not in text
    assert "/onnxruntime_src/" not in text


def test_mdl_10_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no such file"):
        read_model(tmp_path / "model.onnx")


def test_mdl_10_a_folder_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="can't be read"):
        read_model(tmp_path)


BROKEN = [
    (b"", "the file is empty"),
    (b"<!DOCTYPE html><html><body>404 Not Found</body></html>", "it is a web page"),
    (b"\n\n  <html>", "it is a web page"),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "Git LFS pointer"),
    (b"PK\x03\x04 archive/data.pkl", "PyTorch"),
    (b'{"error": "not found"}', "JSON"),
    (b"hello, this is no model", "no ONNX file"),
    (b"\x08\x08", "no graph"),  # only the version, as when a copy stopped at once
    (bytes(100), "no ONNX file"),  # as a disk leaves it after a loss of power
]


@pytest.mark.parametrize(("content", "said"), BROKEN)
def test_mdl_10_what_is_no_model_is_told_apart_with_size_and_hash(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=said) as caught:
        read_model(path)
    text = str(caught.value)
    assert f"({len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()})" in text
    assert "\n" not in text


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_mdl_10_half_a_file_is_said_to_be_cut_off(shipped_model: Path, share: float, tmp_path: Path) -> None:
    whole = shipped_model.read_bytes()
    path = tmp_path / "model.onnx"
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(ModelError, match="the file is cut off") as caught:
        read_model(path)
    assert f"{int(len(whole) * share):,} bytes" in str(caught.value)


def test_mdl_10_another_file_than_configured_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"<html>")
    with pytest.raises(ModelError, match="expected SHA-256 0000") as caught:
        read_model(path, sha256="0" * 64)
    assert hashlib.sha256(b"<html>").hexdigest() in str(caught.value)
    assert "web page" not in str(caught.value)


def test_the_file_that_is_configured_is_accepted(shipped_model: Path) -> None:
    digest = hashlib.sha256(shipped_model.read_bytes()).hexdigest()
    assert read_model(shipped_model, sha256=digest).sha256 == digest


@given(st.binary(max_size=200))
def test_any_bytes_give_a_graph_or_our_error(content: bytes) -> None:
    with contextlib.suppress(ModelError):
        check_bytes(content)


def test_an_unknown_operator_is_refused_with_its_name(save_constant: Callable[..., Path]) -> None:
    path = save_constant()
    model = onnx.load(path)
    model.graph.node[0].op_type = "EfficientNMS_TRT"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match="EfficientNMS_TRT") as caught:
        read_model(path)
    assert "\n" not in str(caught.value)


def test_an_output_that_is_no_tensor_is_refused(save_graph: Callable[..., Path]) -> None:
    path = save_graph(
        "agraph (float[1,3,8,8] images) => (seq(float[1,3,8,8]) many) { many = SequenceConstruct(images) }"
    )
    with pytest.raises(ModelError, match=r"'many' is a seq"):
        read_model(path)


NMS_INPUTS = [
    ("boxes, scores", "", 1),  # no limit at all, which means 0
    ("boxes, scores, , iou, least", "", 1),  # left out between others
    ("boxes, scores, most, iou, least", "0", 1),  # 0 written out
    ("boxes, scores, most, iou, least", "5", 0),  # as it should be
]


@pytest.mark.parametrize(("inputs", "most", "doubts"), NMS_INPUTS)
def test_nms_05_a_graph_that_can_never_output_a_box_is_warned_of(
    save_graph: Callable[..., Path], inputs: str, most: str, doubts: int
) -> None:
    path = save_graph(NMS.format(inputs=inputs, most=most or "5"), metadata={"names": "['a', 'b']"})
    info = read_model(path)
    assert len(info.warnings) == doubts
    assert all("can never output a box" in warning for warning in info.warnings)
    # And so it is: the real engine keeps nothing exactly where we warn.
    boxes = np.tile(np.float32([0, 0, 1, 1]), (1, 20, 1)) + np.arange(20, dtype=np.float32)[None, :, None] * 2
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    (picked,) = session.run(None, {"boxes": boxes, "scores": np.full((1, 2, 20), 0.9, np.float32)})
    assert (len(picked) == 0) == bool(doubts)


@pytest.mark.parametrize("raw", [True, False])
def test_nms_05_a_limit_of_0_is_seen_however_it_is_stored(save_graph: Callable[..., Path], raw: bool) -> None:
    path = save_graph(NMS.format(inputs="boxes, scores, most", most="5"), metadata={"names": "['a', 'b']"})
    model = onnx.load(path)
    zero = numpy_helper.from_array(np.zeros(1, np.int64), "most") if raw else helper.make_tensor("most", 7, [1], [0])
    model.graph.initializer[0].CopyFrom(zero)
    path.write_bytes(model.SerializeToString())
    assert len(read_model(path).warnings) == 1


@pytest.mark.parametrize("text", [b"stride", b"images", b"[8, 8]"])
def test_a_text_that_is_not_utf_8_is_refused_as_one(save_constant: Callable[..., Path], text: bytes) -> None:
    """Found by fuzzing: ONNX Runtime hands such a text to Python, which can't make one of it."""
    path = save_constant(metadata={"stride": "8", "imgsz": "[8, 8]"})
    path.write_bytes(path.read_bytes().replace(text, b"\xb6" + text[1:]))
    with pytest.raises(ModelError, match=r"not UTF-8|refuses it|no ONNX"):
        read_model(path)


def test_weights_in_another_file_are_warned_of(save_constant: Callable[..., Path]) -> None:
    path = save_constant(output=np.ones((1, 5, 300), np.float32), metadata={"names": "['a']"})
    onnx.save_model(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=100)
    (warning,) = read_model(path).warnings
    assert "doesn't cover" in warning
