"""The geometry of a letterbox: where a picture lies inside a network's input, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Letterbox:
    """How one picture was placed, with the pads and sizes that were really used (after rounding).

    Attributes:
        image_wh: the picture's width and height in pixels.
        network_wh: the network input's width and height.
        resized_wh: the picture's size inside the input.
        pad_left, pad_top: where it begins there; the rest is padding.
    """

    image_wh: tuple[int, int]
    network_wh: tuple[int, int]
    resized_wh: tuple[int, int]
    pad_left: int
    pad_top: int

    @property
    def scale_xy(self) -> tuple[float, float]:
        """Network pixels per picture pixel, per axis: rounding makes them differ a little."""
        return self.resized_wh[0] / self.image_wh[0], self.resized_wh[1] / self.image_wh[1]

    def to_image(self, xyxy: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map boxes from network to picture pixels, not clipped; (n, 4) in, new float32 (n, 4) out."""
        scale_x, scale_y = self.scale_xy
        pads = np.array([self.pad_left, self.pad_top, self.pad_left, self.pad_top], np.float64)
        scales = np.array([scale_x, scale_y, scale_x, scale_y], np.float64)
        return ((xyxy - pads) / scales).astype(np.float32)

    def to_network(self, xyxy: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map boxes from picture to network pixels; (n, 4) in, new float32 (n, 4) out."""
        scale_x, scale_y = self.scale_xy
        pads = np.array([self.pad_left, self.pad_top, self.pad_left, self.pad_top], np.float64)
        scales = np.array([scale_x, scale_y, scale_x, scale_y], np.float64)
        return (xyxy * scales + pads).astype(np.float32)
