"""ONNX Runtime end to end: a picture in, detections out, on the GPU and on the processor."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from app.bench.ratio import measure
from app.bench.row import Row
from app.config.sections import Model
from app.engine import Look
from app.errors import TaktsightError
from app.wiring.models import build_model

PART = "ONNX Runtime"
SIZE_WH = (1920, 1080)


def rows(model: Path, rounds: int) -> Iterable[Row]:
    """Measure both, each as the service runs it; a row that says why where the GPU can't be had."""
    picture = np.random.default_rng(1).integers(0, 256, (SIZE_WH[1], SIZE_WH[0], 3), np.uint8)
    looks, ways, why = [Look(picture, 0.25)], {}, ""
    with ExitStack() as stack:
        for device in ("cuda", "cpu"):
            try:
                engine = build_model(device, Model(path=str(model), device=device)).engine
                stack.enter_context(engine.backend)
            except (TaktsightError, ImportError) as error:
                why = str(error)
                continue
            ways[engine.label().rsplit(":", 1)[1]] = lambda engine=engine: engine.look(looks)
        timings = measure(ways, rounds=rounds)
    if why:
        yield Row(PART, f"cuda: not measured: {why}")
    for label, timing in timings.items():
        what = f"{model.stem}, {SIZE_WH[0]} × {SIZE_WH[1]}, picture to detections, {label}"
        yield Row(PART, what, timing.median_ms, timing.least_ms)
