"""Small networks in ONNX, made of what a test names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def weight(name: str, *shape: int, scale: float = 0.1) -> onnx.TensorProto:
    """Random weights, the same for the same name."""
    random = np.random.default_rng(sum(name.encode()))
    return numpy_helper.from_array((random.standard_normal(shape) * scale).astype(np.float32), name)


def numbers(name: str, values: object, dtype: type = np.float32) -> onnx.TensorProto:
    """Constants."""
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def network(
    nodes: Sequence[onnx.NodeProto],
    constants: Sequence[onnx.TensorProto],
    *,
    shape: Sequence[int] = (1, 3, 16, 16),
    output: str = "out",
    opset: int = 17,
) -> onnx.ModelProto:
    """A model of one float input `images` and one float output of any shape."""
    graph = helper.make_graph(
        list(nodes),
        "network",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        list(constants),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def node(op: str, inputs: str, outputs: str, name: str = "", **attributes: object) -> onnx.NodeProto:
    """A node; tensors separated by spaces, `-` for one that is left out."""
    return helper.make_node(
        op, ["" if one == "-" else one for one in inputs.split()], outputs.split(), name, **attributes
    )
