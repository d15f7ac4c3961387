"""Decoding and suppression of a usual output, and of one in which everything is a candidate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.bench.ratio import measure
from app.bench.row import Row, limit_row
from app.config.sections import Nms
from app.decode.boxes import Plane
from app.decode.decoder import Decoder
from app.decode.yolov8 import YoloV8
from app.detections import Detections
from app.letterbox import Letterbox, fit

CLASSES = 80
OUTPUT = "output0"
MIN_SCORE = 0.25
LETTERBOX = fit((1920, 1080), (640, 640))


def output(anchors: int, candidates: int, objects: int) -> NDArray[np.float32]:
    """Return float32 [1, 84, anchors] as YOLOv8 gives it; the candidates over the threshold lie around objects."""
    random = np.random.default_rng(1)
    data = np.zeros((1, 4 + CLASSES, anchors), np.float32)
    data[0, :4] = random.uniform(20, 600, (4, anchors))
    data[0, 4:] = random.uniform(0, 0.2, (CLASSES, anchors))
    rows = random.permutation(anchors)[:candidates]
    heap = random.integers(0, objects, candidates)
    centres, sizes = random.uniform(60, 580, (2, objects)), random.uniform(20, 90, (2, objects))
    data[0, :2, rows] = (centres[:, heap] + random.normal(0, 2, (2, candidates))).T
    data[0, 2:4, rows] = sizes[:, heap].T
    data[0, 4 + heap % CLASSES, rows] = random.uniform(0.3, 0.95, candidates)
    return data


def decoder() -> Decoder:
    """Return a decoder of that output with the product's own defaults."""
    names = tuple(f"class_{index}" for index in range(CLASSES))
    return Decoder(YoloV8(OUTPUT, CLASSES, Plane((640, 640))), Nms(), names)


def rows(rounds: int) -> list[Row]:
    """Measure both."""
    decode = decoder()
    usual, flood = output(8400, 300, 30), output(25_200, 25_200, 500)

    def run(data: NDArray[np.float32], letterbox: Letterbox = LETTERBOX) -> Detections:
        return decode.run({OUTPUT: data}, letterbox, MIN_SCORE)

    timings = measure({"usual": lambda: run(usual), "flood": lambda: run(flood)}, rounds=rounds)
    truncated = run(flood).truncated
    part = "decode + NMS"
    return [
        limit_row(part, "[1,84,8400], 300 candidates", timings["usual"], 1.0),
        limit_row(part, "[1,84,25200], all candidates", timings["flood"], 20.0),
        Row(part, "… flagged as truncated", got=str(truncated).lower(), target="true", met=truncated),
    ]
