"""Picture to network input with nothing rounded after the colours, in plain numpy: the truth for ways with floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.bgr import to_bgr, to_grey
from app.frame import AnyImage, size_of
from app.letterbox import Letterbox, fit
from app.preprocess.input_spec import InputSpec
from app.preprocess.resample import choose, weights


class ExactPreprocessor:
    """The reference's steps in float64; a kernel in float32 must come to within 1e-4 of it (of a range of 0 to 1).

    A picture's pixels are bytes, whatever the camera's format: those that `app/bgr.py` makes of it, in BGR or, for a
    network that wants grey, in grey. From there on nothing is rounded. The reference, which rounds once more when it
    has resized, as the training tools do, differs by less than one grey level.
    """

    def __init__(self, spec: InputSpec) -> None:
        self.spec = spec

    def run(self, image: AnyImage, out: NDArray[Any]) -> Letterbox:
        """Fill `out` from a picture and return where it lies there."""
        spec = self.spec
        letterbox = fit(size_of(image), spec.network_wh, top_left=spec.top_left)
        (width, height), (small_w, small_h) = letterbox.image_wh, letterbox.resized_wh
        kind = choose(letterbox, spec.resize)
        rows, columns = weights(height, small_h, kind), weights(width, small_w, kind)
        colours = to_grey(image)[:, :, np.newaxis] if spec.colour == "grey" else to_bgr(image)
        small = np.stack([rows @ channel @ columns.T for channel in np.moveaxis(colours, 2, 0)], axis=2)
        padded = np.full((spec.height, spec.width, spec.channels), float(spec.pad_value))
        padded[letterbox.inner] = small[:, :, ::-1] if spec.colour == "rgb" else small
        out[:] = (padded.transpose(2, 0, 1) if spec.layout == "nchw" else padded) * spec.scale
        return letterbox
