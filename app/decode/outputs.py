"""Which output of a network holds its candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.model import TensorSpec

USUAL_MASKS = 32


@dataclass(frozen=True, slots=True)
class Dense:
    """The one tensor [B, a, b] with all candidates.

    Attributes:
        masks: mask coefficients of each candidate, as many as there are mask prototypes; 0 without.
    """

    output: TensorSpec
    masks: int = 0

    @property
    def has_masks(self) -> bool:
        """Whether the network segments."""
        return self.masks > 0


def dense_output(outputs: Sequence[TensorSpec]) -> Dense | None:
    """Return the tensor with all candidates, or None where there is none, more than one, or something unknown too."""
    tensors = [output for output in outputs if len(output.shape) == 3]  # noqa: PLR2004 - [B, a, b]
    if len(tensors) != 1 or any(len(output.shape) < 3 for output in outputs):  # noqa: PLR2004
        return None
    prototypes = [output for output in outputs if len(output.shape) == 4]  # noqa: PLR2004 - [B, masks, h, w]
    if len(prototypes) != 1:
        # Several are the raw grids that old exports give beside the finished tensor.
        return Dense(tensors[0])
    return Dense(tensors[0], prototypes[0].shape[1] or USUAL_MASKS)


def are_raw_grids(outputs: Sequence[TensorSpec]) -> bool:
    """Return whether a network gives nothing but the grids that come before its detection head."""
    return bool(outputs) and all(len(output.shape) in (4, 5) for output in outputs)
