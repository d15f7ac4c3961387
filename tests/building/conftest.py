"""A small YOLO-like model in ONNX, and what stands in for TensorRT where the real one can't fail on demand."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from app.building.build import Workshop
from app.building.options import BuildOptions

CHANNELS = ((3, 8, 3, 2), (8, 16, 3, 2), (16, 6, 1, 1))
"""Of each convolution: channels in and out, kernel, stride. Two classes: 4 + 2 rows come out."""


@pytest.fixture
def save_yolo(tmp_path: Path) -> Callable[..., Path]:
    """Write a model with the layout of a YOLOv8 head: [batch, 4 + 2, places], scores through a sigmoid."""

    def save(shape: tuple[object, ...] = (1, 3, 64, 64), name: str = "tiny.onnx", seed: int = 0) -> Path:
        rng = np.random.default_rng(seed)
        nodes, weights, last = [], [], "images"
        for number, (before, after, kernel, stride) in enumerate(CHANNELS):
            values = rng.normal(0, 0.2, (after, before, kernel, kernel)).astype(np.float32)
            weights += [numpy_helper.from_array(values, f"w{number}")]
            weights += [numpy_helper.from_array(np.zeros(after, np.float32), f"b{number}")]
            nodes.append(
                helper.make_node(
                    "Conv",
                    [last, f"w{number}", f"b{number}"],
                    [f"c{number}"],
                    f"conv{number}",
                    kernel_shape=[kernel, kernel],
                    strides=[stride, stride],
                    pads=[kernel // 2] * 4,
                )
            )
            last = f"c{number}"
            if number < len(CHANNELS) - 1:
                nodes.append(helper.make_node("Relu", [last], [f"r{number}"], f"relu{number}"))
                last = f"r{number}"
        weights += [numpy_helper.from_array(np.array([0, 6, -1], np.int64), "rows")]
        weights += [numpy_helper.from_array(np.array([4, 2], np.int64), "parts")]
        nodes += [
            helper.make_node("Reshape", [last, "rows"], ["flat"], "flatten"),
            helper.make_node("Split", ["flat", "parts"], ["boxes", "logits"], "split", axis=1),
            helper.make_node("Sigmoid", ["logits"], ["scores"], "sigmoid"),
            helper.make_node("Concat", ["boxes", "scores"], ["output0"], "join", axis=1),
        ]
        graph = helper.make_graph(
            nodes,
            "tiny",
            [helper.make_tensor_value_info("images", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("output0", TensorProto.FLOAT, (shape[0], 6, None))],
            weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        helper.set_model_props(model, {"names": "{0: 'cover', 1: 'scratch'}"})
        onnx.checker.check_model(model)
        (tmp_path / name).write_bytes(model.SerializeToString())
        return tmp_path / name

    return save


@pytest.fixture
def rtx() -> Workshop:
    """The real TensorRT for RTX, without a GPU."""
    import tensorrt_rtx_bindings  # noqa: PLC0415 - not where this file's other helpers are used

    return Workshop(tensorrt_rtx_bindings)


@pytest.fixture
def options(tmp_path: Path, save_yolo: Callable[..., Path]) -> BuildOptions:
    """A small model, and the engine beside it."""
    return BuildOptions(save_yolo(), tmp_path / "engines" / "tiny.engine")


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Workshop]:
    """Make a `tensorrt_rtx` that is the real one but for some lines, in this process and in the builder's."""

    def make(changes: str, name: str = "tensorrt_rtx") -> Workshop:
        folder = tmp_path / "stand_in"
        folder.mkdir(exist_ok=True)
        header = "import os, signal, tensorrt_rtx_bindings as real\nfrom tensorrt_rtx_bindings import *\n"
        header += "__version__ = real.__version__\n"
        (folder / f"{name}.py").write_text(header + textwrap.dedent(changes))
        monkeypatch.setenv("PYTHONPATH", f"{folder}:{Path.cwd()}")
        monkeypatch.syspath_prepend(folder)
        import importlib  # noqa: PLC0415
        import sys  # noqa: PLC0415

        monkeypatch.delitem(sys.modules, name, raising=False)
        module = importlib.import_module(name)
        monkeypatch.setitem(sys.modules, name, module)
        return Workshop(module)

    return make
