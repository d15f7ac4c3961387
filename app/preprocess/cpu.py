"""Picture to network input on the CPU, with OpenCV, nothing allocated per frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from app.bgr import Bgr
from app.frame import AnyImage, Image, PixelFormat, Pixels, size_of
from app.letterbox import Letterbox, fit
from app.preprocess.base import Preprocessor
from app.preprocess.input_spec import InputSpec
from app.preprocess.resample import Asked, Filter, choose

MOST_BUFFERS = 16  # whose pads are remembered


@dataclass(frozen=True, slots=True, eq=False)
class _Band:
    """The rows of the input that hold a picture of one size, in scratch memory.

    Attributes:
        picture_hwc: uint8 (h, w, 3) BGR, the picture at its size in the network; a part of `rows_hwc`.
        rows_hwc: uint8 (h, network width, 3) BGR, with the padding left and right already in place.
        grey_hw: uint8 (h, network width), the same of a grey picture.
        planes: the same rows in the network's order: one uint8 (h, network width) for each channel, or one with all.
        sheets: the memory of `planes` as uint8 (sheets, values): one sheet for each plane.
        span: where a sheet's values belong in the sheet of a whole input.
        interpolation: OpenCV's name for the resize.
    """

    letterbox: Letterbox
    picture_hwc: Image
    rows_hwc: Image
    grey_hw: NDArray[np.uint8]
    planes: list[NDArray[np.uint8]]
    sheets: NDArray[np.uint8]
    span: slice
    interpolation: int


class CpuPreprocessor(Preprocessor):
    """Resizes, puts the channels in order, and looks every byte up in a table.

    Grey pictures stay grey until the channels are put in order, and for a network that wants grey all others become
    grey before they are resized, as the training tools read them; else other formats are made BGR first, which OpenCV
    does faster than any way around it, into memory that stays.

    The table holds the 256 values in the network's own type. So one pass converts, scales and writes to the network's
    buffer, exact to the last bit and about as fast as memory takes it; no float picture lies in between.

    One owner at a time: the scratch memory is used again by the next picture. Buffers are remembered (a few), because
    the padding above and below the picture stays from one frame to the next.
    """

    def __init__(self, spec: InputSpec) -> None:
        self.spec = spec
        values = (np.arange(256) * spec.scale).astype(spec.dtype)
        # OpenCV 4 has no look-up in float16. Only the bits are moved, so they may go by another name.
        self._bits = np.dtype(np.uint16 if spec.dtype == "float16" else spec.dtype)
        self._table = values.view(self._bits)
        self._pad = self._table[spec.pad_value]
        self._planar = spec.layout == "nchw" or spec.channels == 1
        self._row = spec.width * (1 if self._planar else spec.channels)  # values of one row in one sheet
        self._rows = np.empty(spec.width * spec.height * 3, np.uint8)
        ordered = self._planar or spec.colour == "rgb"
        self._greys = np.empty(spec.width * spec.height, np.uint8)
        self._bgr = Bgr()
        self._ordered = np.empty(spec.width * spec.height * spec.channels, np.uint8) if ordered else self._rows
        self._band: _Band | None = None
        self._padded: dict[int, tuple[NDArray[Any], Letterbox]] = {}

    def run(self, image: AnyImage, out: NDArray[Any]) -> Letterbox:
        """Fill `out` (one sample, C-contiguous) from a picture and return where it lies there.

        Raises:
            ValueError: the picture is a plain array and not uint8 (h, w, 3), or `out` has not the shape and type of the
                spec.
        """
        self._check(image, out)
        band = self._band_of(size_of(image))
        letterbox = band.letterbox
        grey_picture = isinstance(image, Pixels) and image.format is PixelFormat.GRAY8
        if grey_picture or self.spec.colour == "grey":
            grey, small = self._bgr.grey_of(image), band.grey_hw[:, letterbox.inner[1]]
            cv2.resize(grey, letterbox.resized_wh, dst=small, interpolation=band.interpolation)
            self._order_grey(band)
        else:
            bgr = self._bgr.of(image)
            cv2.resize(bgr, letterbox.resized_wh, dst=band.picture_hwc, interpolation=band.interpolation)
            self._order(band)
        sheets_out = out.view(self._bits).reshape(len(band.sheets), -1)
        cv2.LUT(band.sheets, self._table, dst=sheets_out[:, band.span])
        self._pad_once(out, sheets_out, band)
        return letterbox

    def _check(self, image: AnyImage, out: NDArray[Any]) -> None:
        # OpenCV replaces a destination that does not fit, and the result would never reach the network.
        if not isinstance(image, Pixels) and (image.dtype != np.uint8 or image.shape[2:] != (3,)):
            raise ValueError(f"picture: expected uint8 (h, w, 3), got {image.dtype} {image.shape}")
        shape, dtype = self.spec.sample_shape, self.spec.dtype
        if out.shape != shape or out.dtype != dtype or not out.flags.c_contiguous:
            raise ValueError(f"out: expected C-contiguous {dtype} {shape}, got {out.dtype} {out.shape}")

    def _band_of(self, image_wh: tuple[int, int]) -> _Band:
        """Return the band of a picture size, worked out only when the size changes."""
        if self._band is None or self._band.letterbox.image_wh != image_wh:
            self._band = self._new_band(fit(image_wh, self.spec.network_wh, top_left=self.spec.top_left))
        return self._band

    def _new_band(self, letterbox: Letterbox) -> _Band:
        spec, (rows, columns) = self.spec, letterbox.inner
        height = rows.stop - rows.start
        pixels = height * spec.width
        rows_hwc = self._rows[: pixels * 3].reshape(height, spec.width, 3)
        grey_hw = self._greys[:pixels].reshape(height, spec.width)
        rows_hwc[...] = grey_hw[...] = spec.pad_value
        ordered = self._ordered[: pixels * spec.channels]
        planes = ordered.reshape((spec.channels, height, spec.width) if self._planar else (1, *rows_hwc.shape))
        span = slice(rows.start * self._row, rows.stop * self._row)
        sheets = ordered.reshape(len(planes), -1)
        interpolation = _interpolation(letterbox, spec.resize)
        return _Band(letterbox, rows_hwc[:, columns], rows_hwc, grey_hw, list(planes), sheets, span, interpolation)

    def _order(self, band: _Band) -> None:
        """Bring the channels from BGR, interleaved, into the network's order."""
        if self._planar:
            cv2.split(band.rows_hwc, band.planes if self.spec.colour == "bgr" else band.planes[::-1])
        elif self.spec.colour == "rgb":
            cv2.cvtColor(band.rows_hwc, cv2.COLOR_BGR2RGB, dst=band.planes[0])

    def _order_grey(self, band: _Band) -> None:
        """Give every channel the grey."""
        if self._planar:
            for plane in band.planes:
                np.copyto(plane, band.grey_hw)
        else:
            cv2.cvtColor(band.grey_hw, cv2.COLOR_GRAY2BGR, dst=band.planes[0])

    def _pad_once(self, out: NDArray[Any], sheets_out: NDArray[Any], band: _Band) -> None:
        """Fill what lies above and below the band, unless the buffer still holds it from the last picture.

        Nobody else should write there. If another preprocessor did, its picture also lies over the rows next to ours,
        since all letterboxes share a centre or a corner, and shows there unless it is of the padding's very grey.
        """
        above, below = sheets_out[:, : band.span.start], sheets_out[:, band.span.stop :]
        next_to = (above[-1, -self._row :], below[-1, : self._row])
        # The array is kept beside its number, so that no other can get it. (Its address would need a dict each time.)
        _, padded = self._padded.get(id(out), (None, None))
        if padded == band.letterbox and all(self._is_padding(row) for row in next_to):
            return
        above[...] = below[...] = self._pad
        if len(self._padded) == MOST_BUFFERS:
            self._padded.clear()
        self._padded[id(out)] = (out, band.letterbox)

    def _is_padding(self, values: NDArray[Any]) -> bool:
        """Say whether nothing else is in there, without making an array; true where nothing is."""
        return bool(values.min(initial=self._pad) == self._pad == values.max(initial=self._pad))


def _interpolation(letterbox: Letterbox, asked: Asked) -> int:
    """Return OpenCV's name for the filter, or what gives the same numbers as linear in half the time.

    Where the picture is an odd number of times as large as in the network (1920 x 1080 into 640), each target pixel
    lies on the middle of a source pixel. Linear interpolation then weighs that pixel with one, all others with zero.
    """
    if choose(letterbox, asked) is Filter.AREA:
        return cv2.INTER_AREA
    sides = zip(letterbox.image_wh, letterbox.resized_wh, strict=True)
    on_the_middle = all(side % small == 0 and side // small % 2 == 1 for side, small in sides)
    return cv2.INTER_NEAREST_EXACT if on_the_middle else cv2.INTER_LINEAR
