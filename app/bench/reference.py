"""Fixed pieces of work that the product's stages are compared with, so that a slow or busy machine is not to blame."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import onnxruntime as ort

Work = Callable[[], object]
MODEL = Path(__file__).resolve().parent.parent.parent / "engines" / "covers_640.onnx"


def references() -> dict[str, Work]:
    """Return each piece of work by name, of one kind each and on one thread.

    A machine that is twice as fast at one kind need not be at another, and a neighbour that takes the caches hits one
    kind more than another. So each stage names the kind that is most of what it does. The engine's is the shipped
    model called without any code of ours, because nothing else suffers as convolutions do: matrix products took
    0.5 ms with and without neighbours while an engine took 18 and 36.
    """
    random = np.random.default_rng(1)
    picture = random.integers(0, 256, (1080, 1920, 3), np.uint8)
    small = np.empty((360, 640, 3), np.uint8)
    scores = random.uniform(0, 1, (40, 8400)).astype(np.float32)

    return {
        "resize": lambda: cv2.resize(picture, (640, 360), dst=small),
        "engine": _bare_engine(),
        "arrays": lambda: _arrays(scores),
        "python": _python,
    }


def _bare_engine() -> Work:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(MODEL), options, providers=["CPUExecutionProvider"])
    (spec,) = session.get_inputs()
    feeds = {spec.name: np.zeros(spec.shape, np.float32)}
    return lambda: session.run(None, feeds)


def _arrays(scores: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> object:
    best = scores.max(axis=0)
    rows = np.flatnonzero(best > np.float32(0.9))
    return scores[:, rows].argmax(axis=0), np.sort(best[rows])


def _python() -> object:
    words = {}
    for number in range(2000):
        words[f"{number:x}"] = (number, round(number / 7, 3), [number])
    return len(words)
