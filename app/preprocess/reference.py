"""The usual way from picture to network input: slow, allocating, and what every faster way must equal."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from app.frame import Image
from app.letterbox import Letterbox, fit
from app.preprocess.input_spec import InputSpec


class ReferencePreprocessor:
    """Resize, border, transpose, divide, one after another, as the training tools write it."""

    def __init__(self, spec: InputSpec) -> None:
        self.spec = spec

    def run(self, image_hwc: Image, out: NDArray[Any]) -> Letterbox:
        """Fill `out` from a picture and return where it lies there."""
        spec = self.spec
        letterbox = fit((image_hwc.shape[1], image_hwc.shape[0]), spec.network_wh, top_left=spec.top_left)
        resized = cv2.resize(image_hwc, letterbox.resized_wh, interpolation=cv2.INTER_LINEAR)
        pads = (letterbox.pad_top, letterbox.pad_bottom, letterbox.pad_left, letterbox.pad_right)
        padded = cv2.copyMakeBorder(resized, *pads, cv2.BORDER_CONSTANT, value=(spec.pad_value,) * 3)
        if spec.colour == "rgb":
            padded = padded[:, :, ::-1]
        elif spec.colour == "grey":
            padded = cv2.cvtColor(padded, cv2.COLOR_BGR2GRAY)[:, :, np.newaxis]
        ordered = padded.transpose(2, 0, 1) if spec.layout == "nchw" else padded
        out[:] = ordered.astype(np.float64) * spec.scale
        return letterbox
