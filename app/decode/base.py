"""The seam that turns a network's raw tensors into candidate boxes, one implementation per head family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Boxes over the score threshold, before NMS, in pixels of the network's input.

    Attributes:
        xyxy: float32 (n, 4) corners.
        scores: float32 (n,).
        classes: int64 (n,).
        angles_rad: float32 (n,) for rotated boxes, else None.
        final: the network has done its own NMS.
        saturated: the network gave as many boxes as it can.
    """

    xyxy: NDArray[np.float32]
    scores: NDArray[np.float32]
    classes: NDArray[np.int64]
    angles_rad: NDArray[np.float32] | None = None
    final: bool = False
    saturated: bool = False


class Head(Protocol):
    """One family of heads; pure, no state between calls."""

    def candidates(self, outputs: Mapping[str, NDArray[Any]], min_score: float, sample: int = 0) -> Candidates:
        """Return the candidates of one sample of the batch.

        Args:
            outputs: the network's tensors by name; borrowed, copied from where needed.
            min_score: boxes under it are left out; a score of 0 is never a detection.
            sample: which row of the batch.

        Raises:
            BadOutput: a value can't be (not finite, a score outside 0 … 1): the text names the suspected layout.
        """
        ...
