"""The usual way from picture to network input: slow, allocating, and what every faster way must equal."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from app.bgr import to_bgr, to_grey
from app.frame import AnyImage, size_of
from app.letterbox import Letterbox, fit
from app.preprocess.input_spec import InputSpec
from app.preprocess.resample import Filter, choose

INTERPOLATION = {Filter.LINEAR: cv2.INTER_LINEAR, Filter.AREA: cv2.INTER_AREA}


class ReferencePreprocessor:
    """To BGR or grey, resize, border, transpose, divide, one after another, as the training tools write it.

    What is resized is rounded to whole values before it is divided; `exact.py` is the same without that.
    """

    def __init__(self, spec: InputSpec) -> None:
        self.spec = spec

    def run(self, image: AnyImage, out: NDArray[Any]) -> Letterbox:
        """Fill `out` from a picture and return where it lies there."""
        spec = self.spec
        letterbox = fit(size_of(image), spec.network_wh, top_left=spec.top_left)
        interpolation = INTERPOLATION[choose(letterbox, spec.resize)]
        colours = to_grey(image) if spec.colour == "grey" else to_bgr(image)
        resized = cv2.resize(colours, letterbox.resized_wh, interpolation=interpolation)
        pads = (letterbox.pad_top, letterbox.pad_bottom, letterbox.pad_left, letterbox.pad_right)
        padded = cv2.copyMakeBorder(resized, *pads, cv2.BORDER_CONSTANT, value=(spec.pad_value,) * 3)
        if spec.colour == "rgb":
            padded = padded[:, :, ::-1]
        elif spec.colour == "grey":
            padded = padded[:, :, np.newaxis]
        ordered = padded.transpose(2, 0, 1) if spec.layout == "nchw" else padded
        out[:] = ordered.astype(np.float64) * spec.scale
        return letterbox
