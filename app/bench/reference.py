"""Fixed pieces of work that the product's stages are compared with, so that a slow or busy machine is not to blame."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

Work = Callable[[], object]


def references() -> dict[str, Work]:
    """Return each piece of work by name: about a millisecond each, on one thread, of one kind.

    A machine that is twice as fast at one kind need not be at another. So each stage names the kind that is most of
    what it does.
    """
    random = np.random.default_rng(1)
    picture = random.integers(0, 256, (1080, 1920, 3), np.uint8)
    small = np.empty((360, 640, 3), np.uint8)
    left, right = (random.standard_normal((64, 64, 64), np.float32) for _ in range(2))
    product = np.empty_like(left)
    scores = random.uniform(0, 1, (40, 8400)).astype(np.float32)

    return {
        "resize": lambda: cv2.resize(picture, (640, 360), dst=small),
        # Matrices this small: NumPy's library does not share them out among threads.
        "matmul": lambda: np.matmul(left, right, out=product),
        "arrays": lambda: _arrays(scores),
        "python": _python,
    }


def _arrays(scores: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> object:
    best = scores.max(axis=0)
    rows = np.flatnonzero(best > np.float32(0.9))
    return scores[:, rows].argmax(axis=0), np.sort(best[rows])


def _python() -> object:
    words = {}
    for number in range(2000):
        words[f"{number:x}"] = (number, round(number / 7, 3), [number])
    return len(words)
