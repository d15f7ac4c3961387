"""A small YOLO-like model in ONNX, and what stands in for TensorRT where the real one can't fail on demand."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper, numpy_helper

from app.building.build import Workshop
from app.building.options import BuildOptions

GRAPH = """
tiny (float[{batch},3,{height},{width}] images) => (float[{batch},6,places] output0) {{
    c0 = Conv<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(images, w0)
    r0 = Relu(c0)
    c1 = Conv<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(r0, w1)
    r1 = Relu(c1)
    c2 = Conv<kernel_shape = [1, 1]>(r1, w2)
    flat = Reshape(c2, rows)
    boxes, logits = Split<axis = 1>(flat, parts)
    scores = Sigmoid(logits)
    output0 = Concat<axis = 1>(boxes, scores)
}}
"""
WEIGHTS = ((8, 3, 3, 3), (16, 8, 3, 3), (6, 16, 1, 1))
"""Shapes of the convolutions'. Two classes: 4 + 2 rows come out."""


@pytest.fixture
def save_yolo(tmp_path: Path) -> Callable[..., Path]:
    """Write a model with the layout of a YOLOv8 head: [batch, 4 + 2, places], scores through a sigmoid."""

    def save(shape: tuple[object, ...] = (1, 3, 64, 64), name: str = "tiny.onnx") -> Path:
        text = GRAPH.format(batch=shape[0], height=shape[2], width=shape[3])
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
        random = np.random.default_rng(0)
        tensors = {f"w{index}": random.normal(0, 0.2, size).astype(np.float32) for index, size in enumerate(WEIGHTS)}
        tensors |= {"rows": np.array([0, 6, -1], np.int64), "parts": np.array([4, 2], np.int64)}
        model.graph.initializer.extend(numpy_helper.from_array(values, key) for key, values in tensors.items())
        for index, node in enumerate(model.graph.node):
            node.name = f"{node.op_type}_{index}"
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
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        monkeypatch.setitem(sys.modules, name, module)
        return Workshop(module)

    return make
