"""An ONNX graph as plain records: what `engine inspect` looks at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

FLOATS = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8}
SIZES = FLOATS | {"int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8}


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a graph.

    Attributes:
        shape: its axes, None where one is open; None as a whole where not even their number is known.
        dtype: as NumPy names it; "" where it is not known.
    """

    name: str
    shape: tuple[int | None, ...] | None = None
    dtype: str = ""

    @property
    def elements(self) -> int | None:
        """How many numbers; None where an axis is open."""
        if self.shape is None or None in self.shape:
            return None
        return prod(axis for axis in self.shape if axis is not None)

    @property
    def nbytes(self) -> int:
        """How many bytes; 0 where that is not known."""
        return (self.elements or 0) * SIZES.get(self.dtype, 0)

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.name} {self.dtype or '?'} of unknown shape"
        axes = " × ".join("?" if axis is None else str(axis) for axis in self.shape)
        return f"{self.name} {axes or 'one number'} {self.dtype or '?'}"


@dataclass(frozen=True, slots=True)
class Weight:
    """One constant of a graph.

    Attributes:
        most: the largest absolute value; 0 where it was not looked at (no float, or in another file).
        tiny: how many values are not 0 and smaller than FP16 can hold.
        all_zero: every value is 0.
        first: the first value of an integer tensor; None of others.
    """

    tensor: Tensor
    most: float = 0.0
    tiny: int = 0
    all_zero: bool = False
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One operation.

    Attributes:
        domain: "" for ONNX's own.
        attributes: numbers, texts and lists of them; nothing of inner graphs.
        inner: inside the body of an If, Loop or Scan.
    """

    op: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    domain: str = ""
    inner: bool = False

    def __str__(self) -> str:
        return self.name or (self.outputs[0] if self.outputs else self.op)


@dataclass(frozen=True)
class Graph:
    """A whole graph, its nodes in an order in which they can run.

    Attributes:
        weights: constants by name, of initializers and of Constant nodes.
        tensors: all others by name, as far as their shapes could be worked out.
        opset: of ONNX's own operators.
        elsewhere: some weights are in another file.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    weights: Mapping[str, Weight]
    tensors: Mapping[str, Tensor]
    opset: int = 0
    producer: str = ""
    elsewhere: bool = False

    def tensor(self, name: str) -> Tensor:
        """Return a tensor by its name; without shape where nothing is known of it."""
        weight = self.weights.get(name)
        return weight.tensor if weight is not None else self.tensors.get(name, Tensor(name))

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Return a tensor's shape where all of it is known."""
        found = self.tensor(name)
        return None if found.elements is None or found.shape is None else tuple(axis or 0 for axis in found.shape)

    def of(self, *ops: str) -> Iterator[Node]:
        """Yield the nodes of some operations, those in inner graphs, too."""
        return (node for node in self.nodes if node.op in ops)

    @cached_property
    def makers(self) -> Mapping[str, Node]:
        """The node that makes each tensor."""
        return {name: node for node in self.nodes for name in node.outputs if name}

    @cached_property
    def uses(self) -> Mapping[str, int]:
        """How often each tensor is read, the graph's outputs counted once each."""
        counts: dict[str, int] = {tensor.name: 1 for tensor in self.outputs}
        for node in self.nodes:
            for name in node.inputs:
                counts[name] = counts.get(name, 0) + 1
        return counts
