"""A model in FP16 whose input, output and box reading stay FP32, for builders that take the precision from the ONNX."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference
from onnxconverter_common import float16

from app.building.layers import Layers, reads, with_names
from app.errors import ModelError

MOST = float(np.finfo(np.float16).max)
LEAST = 1e-7
"""Smaller numbers become this one; the step of FP16 next to zero."""
_EDGE = "_in_fp32"


def to_fp16(model: onnx.ModelProto, keep: Sequence[str] = ()) -> onnx.ModelProto:
    """Return a new model that computes in FP16.

    What turns the last layers' numbers into boxes stays FP32: in FP16 a box at 640 px can only lie at every half pixel.

    Args:
        model: FP32, with shapes that can be inferred; not changed.
        keep: names of further nodes that stay FP32, each between two casts.

    Raises:
        ModelError: the model is FP16 already, or a name isn't one of its nodes.
    """
    named = shape_inference.infer_shapes(with_names(model))
    layers = Layers(named)
    _check_names(keep, layers)
    tail = set(layers.tail)
    body = _body(named, tail)
    stays = {*keep, *_too_large(body)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it raises tiny weights to LEAST; large ones are in `stays`
        try:
            body = float16.convert_float_to_float16(
                body, LEAST, MOST, keep_io_types=True, node_block_list=sorted(stays)
            )
        except ValueError as error:
            raise ModelError(f"the model is FP16 already ({error}): build it as it is") from error
    _mend_resizes(body, named)
    return _joined(named, body, tail)


def _check_names(keep: Sequence[str], layers: Layers) -> None:
    unknown = sorted(set(keep) - {node.name for node in layers.nodes})
    if unknown:
        raise ModelError(f"no node is called {', '.join(unknown)}: `taktsight engine inspect` lists the model's nodes")


def _too_large(model: onnx.ModelProto) -> Iterable[str]:
    """Return the nodes with weights that FP16 can't hold."""
    large = {
        tensor.name
        for tensor in model.graph.initializer
        if tensor.data_type == onnx.TensorProto.FLOAT and np.abs(numpy_helper.to_array(tensor)).max(initial=0) > MOST
    }
    return [node.name for node in model.graph.node if large.intersection(node.input)]


def _body(model: onnx.ModelProto, tail: set[str]) -> onnx.ModelProto:
    """Return the model without its tail; what the tail reads of it are outputs of their own.

    The library would otherwise round every number of the tail to FP16 and back between any two of its nodes, and give
    the model's own output as FP16 although told to keep its type (1.16).
    """
    body = onnx.ModelProto()
    body.CopyFrom(model)
    graph = body.graph
    made = {output for node in graph.node if node.name not in tail for output in node.output}
    edges = list(dict.fromkeys(_edges(model, tail, made)))
    known = {value.name: value.type for value in (*graph.value_info, *graph.output)}
    kept = [node for node in graph.node if node.name not in tail]
    outputs = [value for value in graph.output if value.name in made]
    del graph.node[:], graph.output[:]
    graph.node.extend(kept)
    for name in edges:
        graph.node.append(helper.make_node("Identity", [name], [name + _EDGE], name + _EDGE))
        graph.output.append(helper.make_value_info(name + _EDGE, _type_of(name, known)))
    graph.output.extend(outputs)
    used = {name for node in graph.node for name in reads(node)}
    _keep_only(graph.initializer, used)
    _keep_only(graph.value_info, used | made)
    return body


def _edges(model: onnx.ModelProto, tail: set[str], made: set[str]) -> Iterable[str]:
    """Yield the tensors that the tail reads of the body."""
    for node in model.graph.node:
        if node.name in tail:
            yield from (name for name in reads(node) if name in made)


def _type_of(name: str, known: dict[str, onnx.TypeProto]) -> onnx.TypeProto:
    if name not in known:
        raise ModelError(f"tensor {name!r}: its type can't be inferred; export the model with plain ONNX operators")
    return known[name]


def _keep_only(items: object, names: set[str]) -> None:
    """Remove all but some of a graph's tensors, in place."""
    kept = [item for item in items if item.name in names]  # type: ignore[attr-defined]  # a protobuf container
    del items[:]  # type: ignore[attr-defined]
    items.extend(kept)  # type: ignore[attr-defined]


def _mend_resizes(body: onnx.ModelProto, model: onnx.ModelProto) -> None:
    """Let resizing move FP16 as it is, by factors that are still exact; in place.

    The library resizes in FP32, two casts of a whole feature map each, by factors that went through FP16: one of 1.3
    then gives a map of another size.
    """
    graph = body.graph
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    constants |= {
        node.output[0]: attribute.t
        for node in model.graph.node
        for attribute in node.attribute
        if node.op_type == "Constant" and attribute.name == "value"
    }
    before = {node.name: node for node in model.graph.node if node.op_type == "Resize"}
    casts = {node.output[0]: node for node in graph.node if node.op_type == "Cast"}
    after = {node.input[0]: node for node in casts.values()}
    for node in [node for node in graph.node if node.name in before]:
        for index, name in enumerate(before[node.name].input):
            if index > 0 and name in constants:
                graph.initializer.add().CopyFrom(constants[name])
                graph.initializer[-1].name = node.input[index] = f"{node.name}_{index}{_EDGE}"
        if node.input[0] in casts and node.output[0] in after:
            node.input[0] = casts[node.input[0]].input[0]
            back = after[node.output[0]]
            node.output[0] = back.output[0]
            graph.node.remove(back)
    del graph.value_info[:]
    _drop_unread(graph)


def _drop_unread(graph: onnx.GraphProto) -> None:
    """Remove nodes whose results nobody reads, in place."""
    wanted = {value.name for value in graph.output}
    for node in reversed(list(graph.node)):
        if wanted.isdisjoint(node.output):
            graph.node.remove(node)
        else:
            wanted.update(reads(node))


def _joined(model: onnx.ModelProto, body: onnx.ModelProto, tail: set[str]) -> onnx.ModelProto:
    """Return the body with the FP32 tail behind it again, which brings its own constants: the body's are FP16."""
    joined = onnx.ModelProto()
    joined.CopyFrom(body)
    graph = joined.graph
    tail_nodes = [node for node in model.graph.node if node.name in tail]
    wanted = {name for node in tail_nodes for name in reads(node)}
    own = [tensor for tensor in model.graph.initializer if tensor.name in wanted]
    edges = {value.name.removesuffix(_EDGE) for value in graph.output if value.name.endswith(_EDGE)}
    renamed = edges | {tensor.name for tensor in own}
    for node in tail_nodes:
        graph.node.add().CopyFrom(node)
        _rename(graph.node[-1], renamed)
    for tensor in own:
        graph.initializer.add().CopyFrom(tensor)
        graph.initializer[-1].name += _EDGE
    del graph.output[:]
    graph.output.extend(model.graph.output)
    onnx.checker.check_model(joined)
    return joined


def _rename(node: onnx.NodeProto, names: set[str]) -> None:
    """Let a node, and the graphs in it, read the FP32 copies of some tensors."""
    for index, name in enumerate(node.input):
        if name in names:
            node.input[index] = name + _EDGE
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                _rename(inner, names)
