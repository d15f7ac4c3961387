"""One sample of a named output as a float32 array of the expected shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import BadOutput


def sample_of(
    outputs: Mapping[str, NDArray[Any]], name: str, sample: int, shape: tuple[int | None, ...]
) -> NDArray[np.float32]:
    """Return one sample of the batch, float32; a view of the borrowed output where that is float32 already.

    Args:
        outputs: the network's tensors by name.
        name: of the wanted one.
        sample: which row of the batch.
        shape: of one sample, the batch axis left out; None where any length will do.

    Raises:
        BadOutput: there is no such output, sample or shape.
    """
    batch = outputs.get(name)
    if batch is None:
        raise BadOutput(f"output {name!r} is missing; the engine gave {', '.join(map(repr, outputs)) or 'none'}")
    if batch.ndim != len(shape) + 1 or sample >= len(batch) or not fits(batch.shape[1:], shape):
        expected = ", ".join("?" if axis is None else str(axis) for axis in shape)
        raise BadOutput(
            f"output {name!r}: shape {batch.shape} instead of (> {sample}, {expected}): check decode.family and names"
        )
    return np.asarray(batch[sample], np.float32)


def fits(shape: tuple[int | None, ...], wanted: tuple[int | None, ...]) -> bool:
    """Return whether a shape can be the wanted one; None on either side fits any length."""
    if len(shape) != len(wanted):
        return False
    return all(here is None or there is None or here == there for here, there in zip(shape, wanted, strict=True))


def said(name: str, family: str, shape: tuple[int, ...]) -> str:
    """Return how an output was read, as the beginning of an error's text."""
    return f"output {name!r} of shape {list(shape)} read as {family}"
