"""What ONNX Runtime doesn't tell of an ONNX file: the names of its open axes, and nodes that can't work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.inference.elsewhere import locations
from app.inference.wire import fields, messages, text

# Field numbers of onnx.proto, which never change.
_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_INPUT = 1, 5, 11
_NODE_INPUT, _NODE_NAME, _NODE_OP_TYPE = 1, 3, 4
_TENSOR_INT64_DATA, _TENSOR_NAME, _TENSOR_RAW_DATA = 7, 8, 9
_VALUE_NAME, _VALUE_TYPE, _TYPE_TENSOR, _TENSOR_SHAPE, _SHAPE_DIM, _DIM_PARAM = 1, 2, 1, 2, 1, 2

_NMS_MAX_OUTPUT_BOXES = 2  # which input of NonMaxSuppression it is


@dataclass(frozen=True, slots=True)
class OnnxGraph:
    """Facts read from the file's bytes.

    Attributes:
        open_axes: by input name, the name of each axis; "" where it is fixed or nameless.
        boxless_nms: the NonMaxSuppression nodes that can never give a box.
        elsewhere: the names of the files that some weights are in, as the model writes them.
    """

    open_axes: dict[str, tuple[str, ...]]
    boxless_nms: tuple[str, ...]
    elsewhere: tuple[str, ...]


def read_graph(data: bytes) -> OnnxGraph | None:
    """Walk a model's outer graph (but for its weights not the bodies of If and Loop); None where there is none.

    Raises:
        Cut: the file ends too early.
        ValueError: this isn't ONNX.
    """
    graph = next(messages(memoryview(data), _MODEL_GRAPH), None)
    if graph is None:
        return None
    axes = dict(_axes(value) for value in messages(graph, _GRAPH_INPUT))
    return OnnxGraph(axes, tuple(_boxless_nms(graph)), locations(data))


def op_types(data: bytes) -> set[str]:
    """Return the kinds of nodes in a model's outer graph.

    Raises:
        ValueError: this isn't ONNX.
    """
    graphs = messages(memoryview(data), _MODEL_GRAPH)
    return {_op_type(node) for graph in graphs for node in messages(graph, _GRAPH_NODE)}


def _axes(value_info: memoryview) -> tuple[str, tuple[str, ...]]:
    """Return an input's name and the names of its axes."""
    name = next((text(value) for number, value in fields(value_info) if number == _VALUE_NAME), "")
    dims = [
        dim
        for kind in messages(value_info, _VALUE_TYPE)
        for tensor in messages(kind, _TYPE_TENSOR)
        for shape in messages(tensor, _TENSOR_SHAPE)
        for dim in messages(shape, _SHAPE_DIM)
    ]
    return name, tuple("".join(text(value) for number, value in fields(dim) if number == _DIM_PARAM) for dim in dims)


def _boxless_nms(graph: memoryview) -> Iterator[str]:
    """Yield NonMaxSuppression nodes whose `max_output_boxes_per_class` is left out or 0: they keep nothing, ever."""
    nodes = [node for node in messages(graph, _GRAPH_NODE) if _op_type(node) == "NonMaxSuppression"]
    zeros = {_zero_name(tensor) for tensor in messages(graph, _GRAPH_INITIALIZER)} if nodes else set()
    for node in nodes:
        inputs = [text(value) for number, value in fields(node) if number == _NODE_INPUT]
        limit = inputs[_NMS_MAX_OUTPUT_BOXES] if len(inputs) > _NMS_MAX_OUTPUT_BOXES else ""
        if not limit or limit in zeros:
            yield next((text(value) for number, value in fields(node) if number == _NODE_NAME), "") or "without a name"


def _op_type(node: memoryview) -> str:
    return next((text(value) for number, value in fields(node) if number == _NODE_OP_TYPE), "")


def _zero_name(tensor: memoryview) -> str:
    """Return the name of a tensor that is one integer 0, else ""."""
    parts = {number: value for number, value in fields(tensor) if number in (_TENSOR_NAME, _TENSOR_RAW_DATA)}
    unpacked = [value for number, value in fields(tensor) if number == _TENSOR_INT64_DATA]
    raw = parts.get(_TENSOR_RAW_DATA)
    is_zero = (isinstance(raw, memoryview) and raw == bytes(8)) or (raw is None and unpacked in ([0], [b"\0"]))
    return text(parts.get(_TENSOR_NAME, 0)) if is_zero else ""
