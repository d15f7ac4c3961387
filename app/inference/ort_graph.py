"""The check of a captured CUDA graph: whether a replay computes anew or gives an earlier picture's result for ever."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.inference.base import Tensors
from app.inference.shapes import known_shape
from app.model import TensorSpec

Run: TypeAlias = Callable[[Tensors], Tensors]
_Arrays: TypeAlias = Mapping[str, NDArray[Any]]

SCALES = (1.0, 255.0)
"""Brightest values of the pictures that are tried: some networks want 0…1 and see nothing in more, or in less."""

TOLERANCE = 0.05
"""How far a replay may be from the plain run, as a share of how far two different pictures' results are apart."""
ROUNDING = 1e-5
"""And beside that, as a share of the largest value."""
VISIBLE = 1e-3
"""How far two results must be apart to be told from one another, as a share of the largest value."""


def replay_fault(eager: Run, replay: Run, inputs: Sequence[TensorSpec]) -> str | None:
    """Run two different pictures without and with the graph, and return why the graph can't be trusted, if so.

    Args:
        eager: runs the network node by node.
        replay: captures the graph when it is called first, and replays it from then on.
        inputs: with no open axis.
    """
    for scale in SCALES:
        one, two = pictures(inputs, scale)
        wanted_one, wanted_two = _kept(eager(one)), _kept(eager(two))
        if not any(_apart(array, wanted_two[name]) > VISIBLE * _most(array) for name, array in wanted_one.items()):
            continue  # such pictures say nothing: a stale result would look right
        replay(one)
        found_two, found_one = _kept(replay(two)), _kept(replay(one))
        if _is_stale(found_two, wanted_two, wanted_one) or _is_stale(found_one, wanted_one, wanted_two):
            return "its results are not those of the picture it was given"
        return None
    return "the network answers different pictures alike, so that a stale result could not be told"


def pictures(inputs: Sequence[TensorSpec], scale: float) -> Iterator[Tensors]:
    """Yield two sets of feeds that differ everywhere: noise, and a slope with other noise on it."""
    random = np.random.default_rng(20_050)
    for number in range(2):
        feeds = {}
        for spec in inputs:
            shape = known_shape(spec)
            slope = np.linspace(0, number, int(np.prod(shape))).reshape(shape)
            feeds[spec.name] = _as_input((random.random(shape) + slope) / (1 + number), scale, spec)
        yield feeds


def _as_input(values: NDArray[np.float64], scale: float, spec: TensorSpec) -> NDArray[Any]:
    if spec.dtype == "uint8":
        return (values * SCALES[-1]).astype(np.uint8)
    if spec.dtype.startswith("float"):
        return (values * scale).astype(spec.dtype)
    return np.zeros(values.shape, spec.dtype)  # a count or an index: 0 is the one that is always there


def _kept(outputs: Tensors) -> _Arrays:
    """Return copies: outputs are borrowed."""
    numbers = {name: array.astype(np.float64) for name, array in outputs.items()}
    return {name: np.nan_to_num(array, posinf=0, neginf=0) for name, array in numbers.items()}


def _apart(one: NDArray[Any], two: NDArray[Any]) -> float:
    return float(np.abs(one - two).max(initial=0))


def _most(array: NDArray[Any]) -> float:
    return float(np.abs(array).max(initial=0))


def _is_stale(found: _Arrays, wanted: _Arrays, other: _Arrays) -> bool:
    """Tell whether a result is further from what is wanted than rounding explains, by the other picture's result."""
    return any(
        _apart(found[name], array) > TOLERANCE * _apart(array, other[name]) + ROUNDING * _most(array)
        for name, array in wanted.items()
    )
