"""Parallel branches that should be one convolution: blocks as RepVGG trains them (YOLOv6, YOLOv7, PP-YOLOE, MobileOne).

In training a block adds up a 3 × 3 convolution, a 1 × 1 convolution and the input itself, each normalised. All of them
are linear, so for use they are summed into one 3 × 3 convolution; an export that forgot to pays for every branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app.building.inspect_cost import flops
from app.building.inspect_graph import Graph, Node


@dataclass(frozen=True, slots=True)
class Branches:
    """One block that could be one convolution.

    Attributes:
        at: the operation that adds the branches up.
        convs: the convolutions in it.
        saved_flops: for one picture, where they were one.
    """

    at: str
    convs: tuple[Node, ...]
    saved_flops: int


@dataclass(frozen=True, slots=True)
class _Branch:
    """One summand, traced back over what is linear.

    Attributes:
        source: the tensor that it is made of.
        conv: None where it is the tensor itself, normalised or not.
    """

    source: str
    conv: Node | None
    normalised: bool


def branches(graph: Graph) -> Iterator[Branches]:
    """Yield the blocks that are still as in training."""
    for node in graph.of("Add", "Sum"):
        # Only the last addition of a chain: those before it are in it.
        if (
            any(node.outputs[0] in other.inputs for other in graph.of("Add", "Sum"))
            and graph.uses[node.outputs[0]] == 1
        ):
            continue
        summands = [_trace(name, graph) for name in _summands(node, graph)]
        for source in dict.fromkeys(branch.source for branch in summands if branch.conv is not None):
            found = [branch for branch in summands if branch.source == source]
            convs = tuple(branch.conv for branch in found if branch.conv is not None)
            if _are_one(convs, found):
                costs = sorted(flops(conv, graph) or 0 for conv in convs)
                yield Branches(str(node), convs, sum(costs[:-1]))


def _summands(node: Node, graph: Graph) -> Iterator[str]:
    """Yield what an addition adds up, additions before it opened."""
    for name in node.inputs:
        maker = graph.makers.get(name)
        if maker is not None and maker.op in ("Add", "Sum") and graph.uses[name] == 1:
            yield from _summands(maker, graph)
        else:
            yield name


def _trace(name: str, graph: Graph) -> _Branch:
    maker = graph.makers.get(name)
    normalised = maker is not None and maker.op == "BatchNormalization"
    if maker is not None and normalised:
        name, maker = maker.inputs[0], graph.makers.get(maker.inputs[0])
    if maker is not None and maker.op == "Conv" and graph.uses[name] == 1:
        return _Branch(maker.inputs[0], maker, normalised)
    return _Branch(name, None, normalised)


def _are_one(convs: tuple[Node, ...], found: list[_Branch]) -> bool:
    """Say whether branches of one source can be one: two convolutions alike, or one beside a normalised input."""
    if len({_setting(conv) for conv in convs}) != 1:
        return False
    return len(convs) > 1 or any(branch.conv is None and branch.normalised for branch in found)


def _setting(conv: Node) -> tuple[Any, ...]:
    """Return what must be the same for two convolutions to be one; kernels may differ, the smaller is padded."""
    attributes = conv.attributes
    return (
        tuple(attributes.get("strides") or (1, 1)),
        attributes.get("group", 1),
        tuple(attributes.get("dilations") or (1, 1)),
    )
