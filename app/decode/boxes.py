"""Box coordinates as a network gives them: are they possible, and where do they lie in its input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.errors import BadOutput
from app.letterbox import xywh_to_xyxy

FAR_PX = 1e6
"""No coordinate is as far out as this; it also keeps areas within what float32 holds."""

UNIT = 4.0
"""Coordinates that all lie under this are fractions of the input (or of a grid's cell), not pixels."""


@dataclass(frozen=True, slots=True)
class Plane:
    """The network's input, and the unit of the coordinates in it.

    Attributes:
        input_wh: width and height of the input in pixels.
        normalised: the network's coordinates are fractions of it.
    """

    input_wh: tuple[int, int]
    normalised: bool = False

    def corners(self, xyxy: NDArray[np.float32], layout: str) -> NDArray[np.float32]:
        """Return boxes given by corners, float32 (n, 4), in input pixels.

        Raises:
            BadOutput: a coordinate is not finite or not in the declared unit, or a box is turned inside out.
        """
        self._check_unit(xyxy, layout)
        pixels = self._to_pixels(xyxy)
        smallest = float((pixels[:, 2:] - pixels[:, :2]).min(initial=0))
        # A pixel inside out is a degenerate box, dropped later; more is another layout.
        if smallest < -1:
            raise BadOutput(
                f"{layout}: a box of {smallest:g} px, its right edge left of its left one; the columns are probably "
                "centre and size: check decode.family"
            )
        return pixels

    def centres(self, xywh: NDArray[np.float32], layout: str) -> NDArray[np.float32]:
        """Return boxes given by centre and size as corners, float32 (n, 4), in input pixels.

        Raises:
            BadOutput: a coordinate is not finite or not in the declared unit, or a size is negative.
        """
        self._check_unit(xywh, layout)
        smallest = float(xywh[:, 2:].min(initial=0))
        if smallest < 0:
            raise BadOutput(f"{layout}: a box of width or height {smallest:g}; check decode.family")
        return xywh_to_xyxy(self._to_pixels(xywh))

    def _to_pixels(self, numbers: NDArray[np.float32]) -> NDArray[np.float32]:
        return numbers * np.array(self.input_wh * 2, np.float32) if self.normalised else numbers

    def _check_unit(self, numbers: NDArray[np.float32], layout: str) -> None:
        if numbers.size == 0:
            return
        furthest = float(np.abs(numbers).max())
        if not furthest <= FAR_PX:  # also where it is NaN
            raise BadOutput(
                f"{layout}: a box coordinate of {furthest:g}; check decode.family and the engine's precision"
            )
        if self.normalised and furthest > UNIT:
            raise BadOutput(
                f"{layout}: a box coordinate of {furthest:g} where decode.normalised declares 0 … 1: "
                "set decode.normalised to false"
            )
        if not self.normalised and furthest <= UNIT:
            raise BadOutput(
                f"{layout}: all boxes lie within {UNIT:g} px of the corner, so they are fractions of the input: "
                "set decode.normalised to true"
            )


def check_finite(numbers: NDArray[np.float32], layout: str) -> None:
    """Refuse a tensor with a NaN or an infinity anywhere, also where no candidate is.

    Raises:
        BadOutput: there is one.
    """
    if not np.isfinite(numbers).all():
        raise BadOutput(f"{layout}: {np.count_nonzero(~np.isfinite(numbers))} box numbers are not finite")
