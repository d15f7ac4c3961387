"""The geometry of a letterbox: where a picture lies inside a network's input, and the way back."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Letterbox:
    """How one picture was placed, with the pads and sizes that were really used (after rounding).

    Made by `fit`. Whoever maps boxes back takes the numbers from here and never computes them again from the sizes: a
    pad that was rounded differently on the way back moves every box by some pixels.

    Attributes:
        image_wh: the picture's width and height in pixels.
        network_wh: the network input's width and height.
        resized_wh: the picture's size inside the input, at least 1 x 1.
        pad_left, pad_top: where it begins there; the rest is padding.
    """

    image_wh: tuple[int, int]
    network_wh: tuple[int, int]
    resized_wh: tuple[int, int]
    pad_left: int
    pad_top: int

    @property
    def pad_right(self) -> int:
        """Columns of padding after the picture."""
        return self.network_wh[0] - self.resized_wh[0] - self.pad_left

    @property
    def pad_bottom(self) -> int:
        """Rows of padding under the picture."""
        return self.network_wh[1] - self.resized_wh[1] - self.pad_top

    @property
    def inner(self) -> tuple[slice, slice]:
        """Rows and columns of the input that hold the picture: `canvas[letterbox.inner]`."""
        rows = slice(self.pad_top, self.pad_top + self.resized_wh[1])
        return rows, slice(self.pad_left, self.pad_left + self.resized_wh[0])

    @property
    def scale_xy(self) -> tuple[float, float]:
        """Network pixels per picture pixel, per axis: rounding makes them differ a little."""
        return self.resized_wh[0] / self.image_wh[0], self.resized_wh[1] / self.image_wh[1]

    def to_image(self, xyxy: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map boxes from network to picture pixels, not clipped; (n, 4) in, new float32 (n, 4) out."""
        pads, scales = self._pads_and_scales()
        return ((xyxy - pads) / scales).astype(np.float32)

    def to_network(self, xyxy: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map boxes from picture to network pixels; (n, 4) in, new float32 (n, 4) out."""
        pads, scales = self._pads_and_scales()
        return (xyxy * scales + pads).astype(np.float32)

    def _pads_and_scales(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return both as float64 (4,): the way there and back must lose less than a thousandth of a pixel."""
        pads = np.array([self.pad_left, self.pad_top, self.pad_left, self.pad_top], np.float64)
        return pads, np.array(self.scale_xy * 2, np.float64)


def fit(image_wh: tuple[int, int], network_wh: tuple[int, int], *, top_left: bool = False) -> Letterbox:
    """Place a picture in a network's input as the tools that trained the network did.

    Centred (YOLOv5 and everything after it): sizes round to the nearest, the odd row or column of padding goes to the
    bottom or right. Top left (YOLOX): sizes are cut off, all padding lies right and below.

    Raises:
        ValueError: a side is not positive.
    """
    if min(*image_wh, *network_wh) < 1:
        raise ValueError(f"letterbox: sides must be at least 1 px, got a picture of {image_wh} into {network_wh}")
    gain = min(network_wh[0] / image_wh[0], network_wh[1] / image_wh[1])
    rounded = int if top_left else round
    # A long thin picture would vanish: no side may round to nothing.
    width = max(1, min(rounded(image_wh[0] * gain), network_wh[0]))
    height = max(1, min(rounded(image_wh[1] * gain), network_wh[1]))
    if top_left:
        return Letterbox(image_wh, network_wh, (width, height), 0, 0)
    return Letterbox(image_wh, network_wh, (width, height), (network_wh[0] - width) // 2, (network_wh[1] - height) // 2)


def xywh_to_xyxy(xywh: NDArray[np.float32]) -> NDArray[np.float32]:
    """Turn centre x, centre y, width, height into corners; (n, 4) in, new array (n, 4) out.

    Do this before anything is clipped: a centre and a size can't be clipped as if they were corners.
    """
    xyxy = np.empty_like(xywh)
    half = xywh[:, 2:] * xywh.dtype.type(0.5)
    np.subtract(xywh[:, :2], half, out=xyxy[:, :2])
    np.add(xywh[:, :2], half, out=xyxy[:, 2:])
    return xyxy


def clip(xyxy: NDArray[np.float32], image_wh: tuple[int, int]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Cut boxes off at the picture's edges.

    Args:
        xyxy: (n, 4) corners in pixels of the picture.
        image_wh: the picture's width and height: edges run from 0 to width and 0 to height, both legal.

    Returns:
        New float32 (n, 4) boxes, and bool (n,) that is true where something of the box is left. Whoever drops the
        others counts them.
    """
    clipped = np.clip(xyxy, np.float32(0), np.array(image_wh * 2, np.float32))
    kept = np.all(clipped[:, 2:] > clipped[:, :2], axis=1)
    return clipped, kept


def pixels(xyxy: NDArray[np.float32], image_wh: tuple[int, int]) -> tuple[slice, slice]:
    """Return rows and columns of the pixels that one box touches, so that `image[pixels(box, wh)]` is its crop.

    Coordinates are edges, so x2 = width is legal and the last column is `ceil(x2) - 1`. Never reaches outside the
    picture; empty where the box does.
    """
    x1, y1, x2, y2 = (float(edge) for edge in xyxy)
    return _touched(y1, y2, image_wh[1]), _touched(x1, x2, image_wh[0])


def _touched(first: float, last: float, side: int) -> slice:
    begin = min(max(math.floor(first), 0), side)
    return slice(begin, max(begin, min(math.ceil(last), side)))


def unpad_mask(mask: NDArray[np.bool_], letterbox: Letterbox) -> NDArray[np.bool_]:
    """Bring a mask of the network's input to the picture: padding off, one value for every picture pixel.

    Every pixel's centre is mapped by the letterbox and the mask is read there. So it makes no difference that pads are
    no whole number of cells in a mask coarser than the input.

    Args:
        mask: bool (h, w) over the whole input, at any resolution.
        letterbox: how the picture was placed there.

    Returns:
        New bool (H, W) of the picture's size.
    """
    (width, height), (scale_x, scale_y) = letterbox.image_wh, letterbox.scale_xy
    cells_y = (np.arange(height) + 0.5) * scale_y + letterbox.pad_top
    cells_x = (np.arange(width) + 0.5) * scale_x + letterbox.pad_left
    rows = (cells_y * (mask.shape[0] / letterbox.network_wh[1])).astype(np.intp)
    columns = (cells_x * (mask.shape[1] / letterbox.network_wh[0])).astype(np.intp)
    unpadded: NDArray[np.bool_] = mask[rows[:, np.newaxis], columns]
    return unpadded
