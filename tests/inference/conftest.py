"""Real ONNX files, made on the spot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

from app.config.sections import Model
from app.inference.model_file import read_model
from app.inference.onnxruntime import OnnxBackend

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def save_graph(tmp_path: Path) -> Callable[..., Path]:
    """Write a model given in ONNX's text form."""

    def save(
        graph: str, *, name: str = "model.onnx", opset: int = 17, metadata: Mapping[str, str] | None = None
    ) -> Path:
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {graph}')
        helper.set_model_props(model, dict(metadata or {}))
        (tmp_path / name).write_bytes(model.SerializeToString())
        return tmp_path / name

    return save


@pytest.fixture
def save_constant(tmp_path: Path) -> Callable[..., Path]:
    """Write a model that looks at its input and always answers the same tensor."""

    def save(
        *,
        name: str = "constant.onnx",
        shape: tuple[object, ...] = (1, 3, 8, 8),
        dtype: int = TensorProto.FLOAT,
        output: np.ndarray | None = None,
        ir_version: int = 8,
        opset: int = 17,
        metadata: Mapping[str, str] | None = None,
    ) -> Path:
        answer = np.arange(15, dtype=np.float32).reshape(1, 5, 3) if output is None else output
        nodes = [
            helper.make_node("Cast", ["images"], ["pixels"], to=TensorProto.FLOAT),
            helper.make_node("ReduceMax", ["pixels"], ["most"], keepdims=0),
            helper.make_node("Mul", ["most", "nothing"], ["zero"]),
            helper.make_node("Add", ["zero", "answer"], ["output0"]),
        ]
        graph = helper.make_graph(
            nodes,
            "constant",
            [helper.make_tensor_value_info("images", dtype, shape)],
            [helper.make_tensor_value_info("output0", TensorProto.FLOAT, answer.shape)],
            [numpy_helper.from_array(np.float32(0), "nothing"), numpy_helper.from_array(answer, "answer")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)
        helper.set_model_props(model, dict(metadata or {}))
        (tmp_path / name).write_bytes(model.SerializeToString())
        return tmp_path / name

    return save


@pytest.fixture
def shipped_model() -> Path:
    """The model that ships."""
    return REPOSITORY / "engines" / "covers_640.onnx"


@pytest.fixture
def save_mean(save_graph: Callable[..., Path]) -> Callable[..., Path]:
    """Write a model that answers the mean of each sample and of each of the last but two axes."""

    def save(kind: str, shape: str = "1,3,8,8", batch: str = "1") -> Path:
        body = "pixels = Cast<to = 1>(images) output0 = ReduceMean<axes = [2, 3], keepdims = 0>(pixels)"
        return save_graph(
            f"agraph ({kind}[{shape}] images) => (float[{batch},n] output0) {{ {body} }}", name="mean.onnx"
        )

    return save


@pytest.fixture
def open_backend(tmp_path: Path) -> Callable[..., OnnxBackend]:
    """Make a backend of a file, not entered yet; keywords go to the model's section."""

    def make(path: Path, input_wh: tuple[int, int] | None = None, **section: object) -> OnnxBackend:
        model = Model(path=str(path), **section)
        return OnnxBackend(read_model(path), model, input_wh=input_wh, cache=tmp_path / "cache")

    return make
