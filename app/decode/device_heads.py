"""The decode kernels' part in each head: which one reads its tensors, and how they lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.decode.anchors import cell_count
from app.decode.base import Head
from app.decode.boxes import Plane
from app.decode.end_to_end import EndToEnd
from app.decode.obb import Obb
from app.decode.on_device import DeviceHead
from app.decode.rows import SMALLEST_CAP
from app.decode.segment import Segment
from app.decode.two_outputs import TwoOutputs
from app.decode.yolov5 import YoloV5
from app.decode.yolov8 import YoloV8
from app.decode.yolox import YoloX
from app.gpu.kernels.decode_jobs import CAPACITY, JOB

Shape: TypeAlias = tuple[int, ...]
Steps: TypeAlias = tuple[int, int]
"""Values from one number of a candidate to its next, and from one candidate to the next."""


def device_head(head: Head, shapes: Mapping[str, Shape]) -> DeviceHead | None:
    """Return the kernels' part in a head, or None where it has none and the host reads the whole outputs.

    Args:
        head: of the network.
        shapes: of all outputs by name, batch axis included, every axis known.
    """
    match head:
        case YoloV8() | Segment() | Obb():
            return _either_way(head, shapes[head.output])
        case YoloV5() | YoloX():
            return _with_objectness(head, shapes[head.output])
        case TwoOutputs():
            return _two_outputs(head, shapes[head.boxes], shapes[head.scores])
        case EndToEnd():
            return _end_to_end(head, shapes[head.output])
        case _:
            return None


def _either_way(head: YoloV8 | Segment | Obb, shape: Shape) -> DeviceHead | None:
    turned = isinstance(head, Obb)
    channels = 4 + head.classes + (head.masks if isinstance(head, Segment) else int(turned))
    _, first, second = shape
    steps: Steps
    if first == channels and not head.rows:
        rows, steps = second, (second, 1)
    elif second == channels and head.rows is not False:
        rows, steps = first, (1, channels)
    else:
        return None
    job = _job(rows, head.classes, head.plane, steps, steps)
    job["scores"] = 4 * steps[0]
    job["angle"] = channels - 1 if turned else 0
    values = first * second
    return DeviceHead("scores", head.output, head.output, rows, head.plane, job, (values, values), turned=turned)


def _with_objectness(head: YoloV5 | YoloX, shape: Shape) -> DeviceHead | None:
    is_yolox = isinstance(head, YoloX)
    plane = Plane(head.input_wh) if isinstance(head, YoloX) else head.plane
    columns = 5 + head.classes + (0 if isinstance(head, YoloX) else head.masks)
    _, rows, found = shape
    if found != columns or (is_yolox and rows != cell_count(plane.input_wh)):
        return None
    job = _job(rows, head.classes, plane, (1, columns), (1, columns))
    job["scores"] = 5
    values = rows * columns
    kind = "yolox" if is_yolox else "objectness"
    return DeviceHead(kind, head.output, head.output, rows, plane, job, (values, values))


def _two_outputs(head: TwoOutputs, boxes: Shape, scores: Shape) -> DeviceHead | None:
    rows = boxes[1]
    if boxes[2:] != (4,) or scores[1:] != (rows, head.classes):
        return None
    job = _job(rows, head.classes, head.plane, (1, 4), (1, head.classes))
    job["corners"] = 1
    values = rows * 4, rows * head.classes
    return DeviceHead("scores", head.boxes, head.scores, rows, head.plane, job, values)


def _end_to_end(head: EndToEnd, shape: Shape) -> DeviceHead | None:
    _, rows, columns = shape
    if columns != 6 + head.masks:
        return None
    job = _job(rows, 0, head.plane, (1, columns), (1, columns))
    job["corners"], job["scores"] = 1, 4
    values, full = rows * columns, SMALLEST_CAP if head.cap is None else max(head.cap, 1)
    return DeviceHead(
        "finished", head.output, head.output, rows, head.plane, job, (values, values), full=full, final=True
    )


def _job(rows: int, classes: int, plane: Plane, box: Steps, score: Steps) -> NDArray[np.void]:
    """Return the part of the record that is the same for every sample and frame."""
    job = np.zeros((), JOB)
    job["rows"], job["classes"], job["capacity"] = rows, classes, CAPACITY
    job["input_w"], job["input_h"] = plane.input_wh
    job["unit_x"], job["unit_y"] = plane.input_wh if plane.normalised else (1, 1)
    (job["box_step"], job["box_row"]), (job["score_step"], job["score_row"]) = box, score
    return job
