"""Reads an .onnx file into a `Graph`, every shape worked out for one picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper, shape_inference

from app.building.inspect_graph import Graph, Node, Tensor, Weight
from app.errors import ModelError

_TINIEST_HALF = 2.0**-25  # half of the smallest number that FP16 holds: less becomes 0
_READ = (AttributeProto.INT, AttributeProto.INTS, AttributeProto.FLOAT, AttributeProto.FLOATS, AttributeProto.STRING)


def read_onnx(path: Path, shapes: Mapping[str, tuple[int, ...]] | None = None) -> Graph:
    """Read a model.

    Args:
        path: of the .onnx file; weights in other files are not read, only counted.
        shapes: of inputs, for those that leave axes open.

    Raises:
        ModelError: it is no ONNX file.
    """
    try:
        model = onnx.load(str(path), load_external_data=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(f"{path}: can't be read as ONNX: {' '.join(str(error).split())}") from error
    if not model.graph.node:
        raise ModelError(f"{path}: there is no operation in it: it is cut off, or no ONNX file")
    return graph_of(model, shapes)


def graph_of(model: ModelProto, shapes: Mapping[str, tuple[int, ...]] | None = None) -> Graph:
    """Return a model's graph, its open axes filled with `shapes`."""
    _fix(model, shapes or {})
    graph = shape_inference.infer_shapes(model, data_prop=True).graph
    tensors = {value.name: _tensor(value) for value in (*graph.input, *graph.output, *graph.value_info)}
    constants = dict(_constants(graph))
    inputs = tuple(tensors[value.name] for value in graph.input if value.name not in constants)
    return Graph(
        nodes=tuple(_nodes(graph.node)),
        inputs=inputs,
        outputs=tuple(tensors[value.name] for value in graph.output),
        weights=constants,
        tensors={name: tensor for name, tensor in tensors.items() if name not in constants},
        opset=max((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), default=0),
        producer=f"{model.producer_name} {model.producer_version}".strip(),
        elsewhere=any(tensor.data_location == TensorProto.EXTERNAL for tensor in graph.initializer),
    )


def _fix(model: ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Write fixed sizes into the inputs, and forget what the file says of all shapes behind them."""
    for value in model.graph.input:
        axes = value.type.tensor_type.shape.dim
        for axis, size in zip(axes, shapes.get(value.name, ()), strict=False):
            if not axis.dim_value:
                axis.dim_value = size
    if shapes:
        del model.graph.value_info[:]


def _tensor(value: onnx.ValueInfoProto) -> Tensor:
    kind = value.type.tensor_type
    dtype = _dtype(kind.elem_type)
    if not kind.HasField("shape"):
        return Tensor(value.name, None, dtype)
    axes = tuple(axis.dim_value if axis.HasField("dim_value") else None for axis in kind.shape.dim)
    return Tensor(value.name, axes, dtype)


def _dtype(number: int) -> str:
    if not number:
        return ""
    if number == TensorProto.BFLOAT16:
        return "bfloat16"
    return str(helper.tensor_dtype_to_np_dtype(number))


def _constants(graph: onnx.GraphProto) -> Iterator[tuple[str, Weight]]:
    for tensor in graph.initializer:
        yield tensor.name, _weight(tensor.name, tensor)
    for node in graph.node:
        values = [each.t for each in node.attribute if each.name == "value"] if node.op_type == "Constant" else []
        for tensor in values:
            yield node.output[0], _weight(node.output[0], tensor)


def _weight(name: str, tensor: TensorProto) -> Weight:
    described = Tensor(name, tuple(tensor.dims), _dtype(tensor.data_type))
    if tensor.data_location == TensorProto.EXTERNAL or not described.elements:
        return Weight(described)
    values = numpy_helper.to_array(tensor)
    if values.dtype.kind in "iu":
        return Weight(described, all_zero=not values.any(), first=int(values.flat[0]))
    if values.dtype.kind != "f":
        return Weight(described)
    return _float_weight(described, np.abs(values.astype(np.float64)))


def _float_weight(described: Tensor, sizes: NDArray[np.float64]) -> Weight:
    finite = sizes[np.isfinite(sizes)]
    tiny = np.count_nonzero((finite > 0) & (finite < _TINIEST_HALF))
    # Infinity as a mask is infinity in FP16, too, and changes nothing.
    return Weight(described, float(finite.max(initial=0.0)), int(tiny), not sizes.any())


def _nodes(nodes: Any, *, inner: bool = False) -> Iterator[Node]:  # noqa: ANN401 - protobuf's own repeated field
    for node in nodes:
        if node.op_type != "Constant":
            yield _node(node, inner=inner)
        for attribute in node.attribute:
            bodies = [attribute.g] if attribute.type == AttributeProto.GRAPH else list(attribute.graphs)
            for body in bodies:
                yield from _nodes(body.node, inner=True)


def _node(node: NodeProto, *, inner: bool) -> Node:
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute if each.type in _READ}
    plain = {name: value.decode() if isinstance(value, bytes) else value for name, value in attributes.items()}
    domain = "" if node.domain == "ai.onnx" else node.domain
    return Node(node.op_type, node.name, tuple(node.input), tuple(node.output), plain, domain, inner)
