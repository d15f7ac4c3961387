"""Fixed pieces of work that the product's stages are compared with, so that a slow or busy machine is not to blame."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import cv2
import numpy as np
import onnxruntime as ort

Work = Callable[[], object]
MODEL = Path(__file__).resolve().parent.parent.parent / "engines" / "covers_640.onnx"
COLD = 16
"""Inputs that take turns, 100 MB of pictures: a stage meets each of its own in memory too, and not in the caches."""


def references() -> dict[str, Work]:
    """Return each piece of work by name, of one kind each and on one thread.

    A machine that is twice as fast at one kind need not be at another, and a neighbour that takes the caches hits one
    kind more than another. So each stage names the kind that is most of what it does. The engine's is the shipped
    model called without any code of ours, because nothing else suffers as convolutions do: matrix products took
    0.5 ms with and without neighbours while an engine took 18 and 36.
    """
    random = np.random.default_rng(1)
    pictures = cycle([random.integers(0, 256, (1080, 1920, 3), np.uint8) for _ in range(COLD)])
    small = np.empty((360, 640, 3), np.uint8)
    scores = cycle([random.uniform(0, 1, (40, 8400)).astype(np.float32) for _ in range(COLD)])

    return {
        "resize": lambda: cv2.resize(next(pictures), (640, 360), dst=small),
        "engine": _bare_engine(random),
        "arrays": lambda: _arrays(next(scores)),
        "python": _python,
    }


def _bare_engine(random: np.random.Generator) -> Work:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(MODEL), options, providers=["CPUExecutionProvider"])
    (spec,) = session.get_inputs()
    feeds = cycle([{spec.name: random.uniform(0, 1, spec.shape).astype(np.float32)} for _ in range(COLD)])
    return lambda: session.run(None, next(feeds))


def _arrays(scores: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> object:
    best = scores.max(axis=0)
    rows = np.flatnonzero(best > np.float32(0.9))
    return scores[:, rows].argmax(axis=0), np.sort(best[rows])


def _python() -> object:
    words = {}
    for number in range(2000):
        words[f"{number:x}"] = (number, round(number / 7, 3), [number])
    return len(words)
