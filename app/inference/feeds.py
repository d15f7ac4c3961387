"""The check of what is fed to an engine, before its bare memory is handed over."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import ModelError
from app.inference.base import Tensors
from app.model import TensorSpec


def check_feeds(inputs: Sequence[TensorSpec], feeds: Tensors) -> None:
    """Refuse feeds that don't fit the inputs: an engine that reads past an array's end is worse than an error.

    Raises:
        ModelError: a tensor is missing, unknown, or of another dtype, shape or memory order.
    """
    if len(feeds) != len(inputs) or any(spec.name not in feeds for spec in inputs):
        raise ModelError(f"feeds {sorted(feeds)}: expected {sorted(spec.name for spec in inputs)}")
    for spec in inputs:
        array = feeds[spec.name]
        if array.dtype != spec.dtype or array.shape != spec.shape:
            raise ModelError(
                f"feed {spec.name!r}: expected {spec.dtype} {spec.shape}, got {array.dtype.name} {array.shape}"
            )
        if not array.flags.c_contiguous:
            raise ModelError(f"feed {spec.name!r}: expected a C-contiguous array, got strides {array.strides}")
