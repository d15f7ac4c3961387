"""Whether frames leave memory behind, or take some for a moment: a thousand of them under `tracemalloc`."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

from app.bench.letterbox import SPEC, picture
from app.bench.row import Row
from app.config.sections import Input, Model
from app.inference.model_file import read_model
from app.inference.onnxruntime import OnnxBackend
from app.preprocess.cpu import CpuPreprocessor
from app.preprocess.input_spec import input_spec

PART = "memory over many frames"
WARM_UP = 20
LIMIT_BYTES = 16_384
"""Python's free lists and NumPy's small buffers take some thousand bytes, once. An input takes millions, per frame."""


def growth(step: Callable[[], object], frames: int) -> tuple[int, int]:
    """Run a step many times.

    Returns:
        Bytes that are still held after the last, and the most that was held at any time, both beyond what was held
        once it had warmed up. NumPy and OpenCV tell `tracemalloc` of their arrays; what an engine holds inside is not
        seen.
    """
    tracemalloc.start()
    try:
        for _ in range(WARM_UP):
            step()
        gc.collect()
        tracemalloc.reset_peak()
        begun, _ = tracemalloc.get_traced_memory()
        for _ in range(frames):
            step()
        _, peak = tracemalloc.get_traced_memory()
        gc.collect()
        ended, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return ended - begun, peak - begun


def rows(frames: int, model: Path) -> list[Row]:
    """Measure preprocess at 1080p, and inference with a real engine.

    Raises:
        ModelError: the model file can't be used.
    """
    preprocessor, out, image_hwc = CpuPreprocessor(SPEC), np.empty(SPEC.sample_shape, np.float32), picture()
    found = _rows("preprocess", lambda: preprocessor.run(image_hwc, out), frames)
    info = read_model(model)
    spec = input_spec(info, Input())
    feeds = {spec.name: np.zeros((spec.batch, *spec.sample_shape), spec.dtype)}
    with OnnxBackend(info, Model(path=str(model)), input_wh=spec.network_wh) as engine:
        found += _rows(f"inference ({model.name})", lambda: engine.infer(feeds), frames)
    return found


def _rows(what: str, step: Callable[[], object], frames: int) -> list[Row]:
    kept, most = growth(step, frames)
    return [
        Row(PART, f"{what}: {name} {frames}", got=f"{size} B", target=f"< {LIMIT_BYTES} B", met=size < LIMIT_BYTES)
        for name, size in (("kept after", kept), ("at once within", most))
    ]
