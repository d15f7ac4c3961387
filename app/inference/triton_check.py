"""Whether a Triton server's model is the one that this machine has: its tensors, and its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.inference.base import Tensors
from app.inference.shapes import known_shape
from app.model import TensorSpec

SEED = 7


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """What the file's own network gives for one made-up batch.

    Attributes:
        inputs: of this batch.
        outputs: by name, with the shapes that came out; None for axes that the network decides.
        feeds, results: not borrowed.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    feeds: Tensors
    results: Tensors


def noise(inputs: Sequence[TensorSpec]) -> dict[str, NDArray[Any]]:
    """Return inputs that exercise a network: the same ones each time, every picture of a batch another one."""
    random = np.random.default_rng(SEED)
    made = {}
    for spec in inputs:
        top = 255.0 if np.issubdtype(np.dtype(spec.dtype), np.integer) else 1.0
        made[spec.name] = (random.random(known_shape(spec)) * top).astype(spec.dtype)
    return made


def tensor_fault(
    found: Mapping[str, tuple[str, tuple[int, ...]]], expected: Mapping[str, tuple[str, tuple[int | None, ...]]]
) -> str | None:
    """Say how a server's tensors differ from the file's; None where they don't.

    Args:
        found: type in Triton's words and shape by name, -1 for an open axis.
        expected: the same of the file, None for an open axis.
    """
    if set(found) != set(expected):
        return f"its tensors are {', '.join(sorted(found))}, the file's are {', '.join(sorted(expected))}"
    for name, (kind, shape) in expected.items():
        has_kind, has_shape = found[name]
        fits = len(has_shape) == len(shape) and all(
            there in (-1, here) or here is None for there, here in zip(has_shape, shape, strict=True)
        )
        if has_kind != kind or not fits:
            said = ["?" if axis is None else axis for axis in shape]
            return f"tensor {name!r} is {has_kind} {list(has_shape)} there and {kind} {said} in the file"
    return None


def result_fault(expected: Tensors, got: Tensors, tolerance: float) -> str | None:
    """Say which output of a server is not what the file's own network gives; None where all are.

    Args:
        expected: of the file's own network.
        got: of the server, for the same feeds.
        tolerance: how far a number may be off, in shares of the output's largest.
    """
    for name, array in expected.items():
        other = got[name]
        if other.shape != array.shape:
            return f"output {name!r} has shape {list(other.shape)} there and {list(array.shape)} here"
        largest = float(np.nanmax(np.abs(array.astype(np.float64)), initial=1e-6))
        off = np.abs(other.astype(np.float64) - array.astype(np.float64))
        worst = float(np.max(off, initial=0.0))  # NaN where either is: that agrees with nothing
        if not worst <= tolerance * largest:
            return f"output {name!r} is off by {worst / largest:.2g} of its largest number, {tolerance:g} is allowed"
    return None
