"""Picture to network input: ours beside the three ways that people use, and the resize that all of them need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from app.bench.ratio import Timing, Way, measure
from app.bench.row import Row, ratio_row
from app.frame import Image
from app.letterbox import Letterbox, fit
from app.preprocess.cpu import CpuPreprocessor
from app.preprocess.input_spec import InputSpec

SPEC = InputSpec("images", 640, 640)
FULL_HD, HD = (1920, 1080), (1280, 720)
OURS = "ours"
FLOOR = "a linear resize alone"
AT_LEAST = {"blobFromImage": 2.2, "float first": 12.0, "usual": 1.8}
CACHE_BYTES = 64 << 20

Tensor = NDArray[np.float32]


def picture(size_wh: tuple[int, int] = FULL_HD) -> Image:
    """Return noise: no branch and no cache can guess it."""
    return np.random.default_rng(1).integers(0, 256, (size_wh[1], size_wh[0], 3), np.uint8)


def ways(image_hwc: Image, spec: InputSpec = SPEC) -> dict[str, Callable[[], Tensor]]:
    """Return the ways by name, each giving float32 (3, h, w) or the same with a batch axis."""
    preprocessor, out = CpuPreprocessor(spec), np.empty(spec.sample_shape, np.float32)
    letterbox = fit((image_hwc.shape[1], image_hwc.shape[0]), spec.network_wh)

    def ours() -> Tensor:
        preprocessor.run(image_hwc, out)
        return out

    return {
        OURS: ours,
        "blobFromImage": lambda: blob(image_hwc, letterbox),
        "float first": lambda: float_first(image_hwc, letterbox),
        "usual": lambda: usual(image_hwc, letterbox),
    }


def usual(image_hwc: Image, letterbox: Letterbox) -> Tensor:
    """Resize, border, transpose, convert and divide, as most code on the web does."""
    padded = _bordered(cv2.resize(image_hwc, letterbox.resized_wh), letterbox, 114)
    ordered = np.ascontiguousarray(padded[:, :, ::-1].transpose(2, 0, 1))
    return np.divide(ordered.astype(np.float32), 255, dtype=np.float32)


def float_first(image_hwc: Image, letterbox: Letterbox) -> Tensor:
    """Convert the whole picture to float before it is made smaller."""
    resized = cv2.resize(image_hwc.astype(np.float32) / 255, letterbox.resized_wh)
    return np.ascontiguousarray(_bordered(resized, letterbox, 114 / 255)[:, :, ::-1].transpose(2, 0, 1))


def blob(image_hwc: Image, letterbox: Letterbox) -> Tensor:
    """Do the same resize and border, and the rest with OpenCV's own function."""
    padded = _bordered(cv2.resize(image_hwc, letterbox.resized_wh), letterbox, 114)
    return cv2.dnn.blobFromImage(padded, 1 / 255, swapRB=True)  # type: ignore[return-value] # stub says Mat


def _bordered(resized: NDArray[Any], letterbox: Letterbox, value: float) -> NDArray[Any]:
    pads = (letterbox.pad_top, letterbox.pad_bottom, letterbox.pad_left, letterbox.pad_right)
    return cv2.copyMakeBorder(resized, *pads, cv2.BORDER_CONSTANT, value=(value,) * 3)


def rows(rounds: int) -> list[Row]:
    """Measure a shrink by three, in which ours takes a short cut, on one thread and on all, and a shrink by two.

    The last part empties the caches before every call, as an engine that runs in between does.
    """
    threads = cv2.getNumThreads()
    found: list[Row] = []
    try:
        for count in sorted({1, cv2.getNumberOfCPUs()}):
            cv2.setNumThreads(count)
            found += _rows(f"1920×1080, {count} thread{'s' * (count > 1)}", measure(_timed(FULL_HD), rounds=rounds))
        cv2.setNumThreads(1)
        found += _rows("1280×720, 1 thread", measure(_timed(HD), rounds=rounds), asked=False)
        cold = measure(_timed(FULL_HD), rounds=rounds, burst=1, before=_emptied_caches())
        found += _rows("1920×1080, 1 thread, cold caches", cold, asked=False)
    finally:
        cv2.setNumThreads(threads)
    return found


def _timed(size_wh: tuple[int, int]) -> dict[str, Way]:
    image_hwc = picture(size_wh)
    resized_wh = fit(size_wh, SPEC.network_wh).resized_wh
    return {**ways(image_hwc), FLOOR: lambda: cv2.resize(image_hwc, resized_wh)}


def _emptied_caches() -> Way:
    rubbish = np.zeros(CACHE_BYTES, np.uint8)
    return lambda: np.add(rubbish, 1, out=rubbish)


def _rows(part: str, timings: dict[str, Timing], *, asked: bool = True) -> list[Row]:
    ours = timings[OURS]
    found = [Row(f"letterbox {part}", OURS, ours.median_ms, ours.least_ms)]
    for name, timing in timings.items():
        if name != OURS:
            found.append(ratio_row(f"letterbox {part}", name, timing, ours, AT_LEAST.get(name) if asked else None))
    return found
