"""What a graph costs: multiply-adds and parameters by operation, memory while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from app.building.inspect_graph import Graph, Node

_COUNTED = {
    "Conv": 1,
    "FusedConv": 1,
    "ConvInteger": 1,
    "QLinearConv": 3,
    "ConvTranspose": 1,
    "Gemm": 1,
    "FusedGemm": 1,
    "MatMul": 1,
    "MatMulInteger": 1,
    "FusedMatMul": 1,
    "QLinearMatMul": 3,
}
"""Operations that multiply and add, and which input is their second factor."""

_LEARNED = ("BatchNormalization", "InstanceNormalization", "GroupNormalization", "LayerNormalization", "PRelu")
"""Other operations that have weights of their own; constants of all others are grids, limits and sizes."""

_THROUGH = ("DequantizeLinear", "QuantizeLinear", "Cast", "Identity", "Transpose", "Reshape")
_PARAMETERS = ("float32", "float16", "bfloat16", "float64", "int8", "uint8")


@dataclass(frozen=True, slots=True)
class OpCost:
    """All operations of one kind.

    Attributes:
        flops: two for each multiply-add of convolutions and matrix products, for one picture; the rest is not counted.
        params: numbers in the weights that they read themselves.
    """

    op: str
    count: int
    flops: int
    params: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes for one picture.

    Attributes:
        weights: all constants.
        activations: the most that is alive at once while the operations run in order, nothing fused or in place.
        at: the operation at which that is.
        unknown: tensors whose size is not known and not in there.
    """

    weights: int
    activations: int
    at: str
    unknown: int


def flops(node: Node, graph: Graph) -> int | None:
    """Return two for each multiply-add of one operation; None where its shapes are not known, 0 where it has none."""
    if node.op not in _COUNTED or len(node.inputs) <= _COUNTED[node.op]:
        return 0
    factor, out = graph.shape(node.inputs[_COUNTED[node.op]]), graph.shape(node.outputs[0])
    source = graph.shape(node.inputs[0])
    if factor is None or out is None or source is None:
        return None
    if node.op == "ConvTranspose":  # each number of the input is spread over a kernel
        return 2 * prod(source) * prod(factor[1:])
    if "Conv" in node.op:
        return 2 * prod(out) * prod(factor[1:])
    across = source[0] if "Gemm" in node.op and node.attributes.get("transA") else source[-1]
    return 2 * prod(out) * across


def op_costs(graph: Graph) -> tuple[OpCost, ...]:
    """Return what each kind of operation costs, the dearest first."""
    rows: dict[str, list[int]] = {}
    seen: set[str] = set()
    for node in graph.nodes:
        row = rows.setdefault(f"{node.domain}.{node.op}" if node.domain else node.op, [0, 0, 0])
        row[0] += 1
        row[1] += flops(node, graph) or 0
        row[2] += sum(_params(node, graph, seen))
    costs = (OpCost(op, *row) for op, row in rows.items())
    return tuple(sorted(costs, key=lambda cost: (-cost.flops, -cost.params, -cost.count, cost.op)))


def uncounted(graph: Graph) -> tuple[Node, ...]:
    """Return the operations whose multiply-adds can't be counted because a shape is open."""
    return tuple(node for node in graph.nodes if flops(node, graph) is None)


def memory(graph: Graph) -> Memory:
    """Return what the graph needs while it runs, for one picture."""
    last = {name: number for number, node in enumerate(graph.nodes) for name in node.inputs}
    last |= {tensor.name: len(graph.nodes) for tensor in graph.outputs}
    alive = {tensor.name: tensor.nbytes for tensor in graph.inputs}
    most, at, unknown = sum(alive.values()), "the input", 0
    for number, node in enumerate(graph.nodes):
        made = [graph.tensor(name) for name in node.outputs if name and not node.inner]
        unknown += sum(tensor.elements is None for tensor in made)
        alive |= {tensor.name: tensor.nbytes for tensor in made}
        if (now := sum(alive.values())) > most:
            most, at = now, str(node)
        alive = {name: size for name, size in alive.items() if last.get(name, -1) > number}
    weights = sum(weight.tensor.nbytes for weight in graph.weights.values())
    return Memory(weights, most, at, unknown)


def _params(node: Node, graph: Graph, seen: set[str]) -> Iterator[int]:
    """Yield the sizes of the weights that a node reads, each once in the whole graph.

    What turns weights into other weights, as DequantizeLinear does, has none of its own: they belong to who uses them.
    """
    if node.op not in (*_COUNTED, *_LEARNED) and not _adds_a_bias(node, graph):
        return
    for name in node.inputs:
        weight = _behind(name, graph)
        if weight in seen or weight not in graph.weights:
            continue
        seen.add(weight)
        tensor = graph.weights[weight].tensor
        if tensor.dtype in _PARAMETERS:
            yield tensor.elements or 0


def _adds_a_bias(node: Node, graph: Graph) -> bool:
    makers = [graph.makers.get(name) for name in node.inputs]
    return node.op == "Add" and any(maker is not None and maker.op == "MatMul" for maker in makers)


def _behind(name: str, graph: Graph) -> str:
    while name not in graph.weights and (maker := graph.makers.get(name)) is not None and maker.op in _THROUGH:
        name = maker.inputs[0]
    return name
