"""What a network's ONNX graph is made of as far as precision goes: layers with weights, and the tail after them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import onnx

WEIGHTED = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})
"""Operators that are worth their INT8: everything else is moved or added."""
_SHAPING = frozenset({"Reshape", "Transpose", "Slice", "Split", "Squeeze", "Unsqueeze", "Identity"})


class Layers:
    """A model's nodes by what they do, each known by its name.

    Args:
        model: with every node named; see `with_names`. Only read.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self.nodes: Sequence[onnx.NodeProto] = model.graph.node
        self._weights = {tensor.name for tensor in model.graph.initializer}
        self._weights |= {output for node in self.nodes if node.op_type == "Constant" for output in node.output}
        self._made_by = {output: node for node in self.nodes for output in node.output}
        self._readers: Mapping[str, list[onnx.NodeProto]] = self._all_readers()
        self._weighted = [node for node in self.nodes if self._has_weights(node) and not self._reads_bins(node)]
        self._tail = self._find_tail()

    @property
    def weighted(self) -> tuple[str, ...]:
        """The layers that may be quantised, in the order they run."""
        return tuple(node.name for node in self._weighted)

    @property
    def tail(self) -> tuple[str, ...]:
        """What only turns the last layers' numbers into boxes and scores.

        Its numbers are pixels and probabilities side by side, and it costs next to nothing, so it stays as it is.
        """
        return tuple(node.name for node in self.nodes if node.name in self._tail)

    @property
    def head(self) -> tuple[str, ...]:
        """Where the tail makes scores and lays them beside boxes: its sigmoids, and the concats that they go into.

        INT8 must not reach these. The sigmoids between layers are not among them.
        """
        scores: set[str] = set()
        found = []
        for node in self.nodes:
            makes_scores = node.op_type == "Sigmoid" and node.name in self._tail
            if makes_scores or scores.intersection(node.input):
                scores.update(node.output)
                found += [node.name] if node.op_type in ("Sigmoid", "Concat") else []
        return tuple(found)

    def inputs_of(self, names: Sequence[str]) -> dict[str, str]:
        """Return the first input of each named node, the one that isn't its weights."""
        wanted = set(names)
        return {node.name: node.input[0] for node in self.nodes if node.name in wanted}

    def _all_readers(self) -> dict[str, list[onnx.NodeProto]]:
        readers = defaultdict(list)
        for node in self.nodes:
            for name in reads(node):
                readers[name].append(node)
        return readers

    def _has_weights(self, node: onnx.NodeProto) -> bool:
        # Two activations are multiplied in attention: there is no weight to save, and its softmax suffers.
        return node.op_type in WEIGHTED and node.input[1] in self._weights

    def _reads_bins(self, node: onnx.NodeProto) -> bool:
        """Whether it is the fixed convolution that turns a softmax over distances into one distance."""
        above = self._made_by.get(node.input[0])
        while above is not None and above.op_type in _SHAPING:
            above = self._made_by.get(above.input[0])
        return above is not None and above.op_type == "Softmax" and node.op_type == "Conv"

    def _find_tail(self) -> set[str]:
        """Walk backwards: a node after which no layer comes belongs to the tail, unless it is a layer."""
        weighted = {node.name for node in self._weighted}
        before_a_layer: set[str] = set()
        for node in reversed(self.nodes):
            after = [reader.name for output in node.output for reader in self._readers.get(output, ())]
            if any(name in weighted or name in before_a_layer for name in after):
                before_a_layer.add(node.name)
        return {node.name for node in self.nodes} - weighted - before_a_layer


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """Yield the tensors that a node reads, those that its inner graphs take from outside included."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            made = {output for inner in graph.node for output in inner.output}
            made |= {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
            yield from (name for inner in graph.node for name in reads(inner) if name not in made)
            yield from (value.name for value in graph.output if value.name not in made)


def with_names(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy whose nodes all have a name, and no two the same."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    seen: set[str] = set()
    for index, node in enumerate(copy.graph.node):
        if not node.name or node.name in seen:
            node.name = f"{node.name or node.op_type}_{index}"
        seen.add(node.name)
    return copy
