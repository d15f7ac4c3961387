"""Picture to network input on the CPU, with OpenCV, nothing allocated per frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from app.frame import Image
from app.letterbox import Letterbox, fit
from app.preprocess.input_spec import InputSpec


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """One picture size: its geometry, and the parts of the scratch memory that it uses.

    Attributes:
        resized_hwc: uint8 (h, w, 3) BGR, the picture at its size in the network.
        sheets: the same pixels in the network's order: one uint8 (h, w) for each channel, or one (h, w, 3).
    """

    letterbox: Letterbox
    resized_hwc: Image
    sheets: list[NDArray[np.uint8]]


class CpuPreprocessor:
    """Resizes (linear, as the training tools do), puts the channels in order, and looks every byte up in a table.

    The table holds the 256 values in the network's own type. So one pass converts, scales and writes to the network's
    buffer, exact to the last bit and about as fast as memory takes it; no float picture lies in between.

    One owner at a time: the scratch memory is used again by the next picture.
    """

    def __init__(self, spec: InputSpec) -> None:
        self.spec = spec
        values = (np.arange(256) * spec.scale).astype(spec.dtype)
        # OpenCV 4 has no look-up in float16. Only the bits are moved, so they may go by another name.
        self._bits = np.dtype(np.uint16 if spec.dtype == "float16" else spec.dtype)
        self._table = values.view(self._bits)
        self._pad = self._table[spec.pad_value]
        self._planar = spec.layout == "nchw" or spec.channels == 1
        self._resized = np.empty(spec.width * spec.height * 3, np.uint8)
        self._ordered = np.empty(spec.width * spec.height * spec.channels, np.uint8)
        self._placed: _Placed | None = None

    def run(self, image_hwc: Image, out: NDArray[Any]) -> Letterbox:
        """Fill `out` (one sample, C-contiguous) from a picture and return where it lies there.

        Raises:
            ValueError: the picture is not uint8 (h, w, 3), or `out` has not the shape and type of the spec.
        """
        self._check(image_hwc, out)
        placed = self._place((image_hwc.shape[1], image_hwc.shape[0]))
        letterbox = placed.letterbox
        cv2.resize(image_hwc, letterbox.resized_wh, dst=placed.resized_hwc, interpolation=cv2.INTER_LINEAR)
        self._order(placed)
        for sheet, sheet_out in zip(placed.sheets, self._sheets(out.view(self._bits)), strict=True):
            cv2.LUT(sheet, self._table, dst=sheet_out[letterbox.inner])
            self._fill_pads(sheet_out, letterbox)
        return letterbox

    def _check(self, image_hwc: Image, out: NDArray[Any]) -> None:
        # OpenCV replaces a destination that does not fit, and the result would never reach the network.
        if image_hwc.dtype != np.uint8 or image_hwc.ndim != 3 or image_hwc.shape[2] != 3:  # noqa: PLR2004 - h, w, BGR
            raise ValueError(f"picture: expected uint8 (h, w, 3), got {image_hwc.dtype} {image_hwc.shape}")
        shape, dtype = self.spec.sample_shape, self.spec.dtype
        if out.shape != shape or out.dtype != dtype or not out.flags.c_contiguous:
            raise ValueError(f"out: expected C-contiguous {dtype} {shape}, got {out.dtype} {out.shape}")

    def _place(self, image_wh: tuple[int, int]) -> _Placed:
        """Return the geometry of a picture size, worked out only when the size changes."""
        if self._placed is not None and self._placed.letterbox.image_wh == image_wh:
            return self._placed
        letterbox = fit(image_wh, self.spec.network_wh, top_left=self.spec.top_left)
        width, height = letterbox.resized_wh
        resized_hwc = self._resized[: height * width * 3].reshape(height, width, 3)
        ordered = self._ordered[: height * width * self.spec.channels]
        shape = (self.spec.channels, height, width) if self._planar else (1, height, width, 3)
        self._placed = _Placed(letterbox, resized_hwc, list(ordered.reshape(shape)))
        return self._placed

    def _order(self, placed: _Placed) -> None:
        """Bring the channels from BGR, interleaved, into the network's order."""
        resized_hwc, sheets = placed.resized_hwc, placed.sheets
        if self.spec.colour == "grey":
            cv2.cvtColor(resized_hwc, cv2.COLOR_BGR2GRAY, dst=sheets[0])
        elif self._planar:
            cv2.split(resized_hwc, sheets if self.spec.colour == "bgr" else sheets[::-1])
        elif self.spec.colour == "rgb":
            cv2.cvtColor(resized_hwc, cv2.COLOR_BGR2RGB, dst=sheets[0])
        else:
            np.copyto(sheets[0], resized_hwc)

    def _sheets(self, bits: NDArray[Any]) -> NDArray[Any]:
        """Return a network buffer as the sheets that it is written in; a view."""
        width, height = self.spec.network_wh
        return bits.reshape((self.spec.channels, height, width) if self._planar else (1, height, width, 3))

    def _fill_pads(self, sheet_out: NDArray[Any], letterbox: Letterbox) -> None:
        rows, columns = letterbox.inner
        sheet_out[: rows.start] = self._pad
        sheet_out[rows.stop :] = self._pad
        sheet_out[rows, : columns.start] = self._pad
        sheet_out[rows, columns.stop :] = self._pad
