"""The head for each family."""

from __future__ import annotations

from app.config.sections import Decode
from app.decode.base import Head
from app.decode.boxes import Plane
from app.decode.end_to_end import EndToEnd
from app.decode.nms_in_graph import NmsInGraph
from app.decode.obb import Obb
from app.decode.outputs import Dense, dense_output
from app.decode.roles import box_and_score_outputs, finished_roles
from app.decode.segment import Segment
from app.decode.two_outputs import TwoOutputs
from app.decode.yolov5 import YoloV5
from app.decode.yolov7_rows import YoloV7Rows
from app.decode.yolov8 import YoloV8
from app.decode.yolox import YoloX
from app.errors import ModelError
from app.model import Family, ModelInfo, TensorSpec


def head_for(family: Family, info: ModelInfo, classes: int, input_wh: tuple[int, int], section: Decode) -> Head:
    """Return the head that reads a network's outputs.

    Args:
        family: as `detect_family` says.
        info: the file; its outputs may have open axes.
        classes: as `detect_family` says.
        input_wh: the network's input in pixels, as it is really fed.
        section: of the configuration.

    Raises:
        ModelError: the outputs are not those of the family, or `decode.normalised` can't be meant.
    """
    plane = Plane(input_wh, section.normalised)
    match family:
        case Family.YOLOV7_ROWS:
            return _rows_of_seven(info, plane)
        case Family.NMS_IN_GRAPH:
            return _nms_in_graph(info, plane)
        case Family.TWO_OUTPUTS:
            return _two_outputs(info, classes, plane)
        case Family.YOLOV5 | Family.YOLOX | Family.END_TO_END:
            return _row_head(family, info, classes, plane)
        case _:
            return _dense_head(family, info, classes, plane)


def _row_head(family: Family, info: ModelInfo, classes: int, plane: Plane) -> Head:
    """Return a head for one row per candidate, which comes in one form only."""
    dense = _dense(family, info)
    name = dense.output.name
    match family:
        case Family.YOLOV5:
            return YoloV5(name, classes, plane, dense.masks)
        case Family.END_TO_END:
            return EndToEnd(name, plane, dense.output.shape[1], dense.masks)
        case _:
            _refuse_normalised(family, info, plane)
            return YoloX(name, classes, plane.input_wh)


def _dense_head(family: Family, info: ModelInfo, classes: int, plane: Plane) -> Head:
    """Return a head for a tensor that may lie either way round."""
    dense = _dense(family, info)
    output = dense.output
    match family:
        case Family.SEGMENT:
            return Segment(output.name, classes, dense.masks, plane, _rows(output, 4 + classes + dense.masks))
        case Family.OBB:
            _refuse_normalised(family, info, plane)
            return Obb(output.name, classes, plane, _rows(output, 4 + classes + 1))
        case _:
            return YoloV8(output.name, classes, plane, _rows(output, 4 + classes))


def _rows(output: TensorSpec, channels: int) -> bool | None:
    """Return whether candidates are rows; None where the file leaves it open.

    Where both axes are as long as there are channels, channels come first, as exporters have it.
    """
    if output.shape[1] == channels:
        return False
    return True if output.shape[2] == channels else None


def _dense(family: Family, info: ModelInfo) -> Dense:
    dense = dense_output(info.outputs)
    if dense is None:
        raise ModelError(
            f"{info.path.name}: no single output [B, a, b] to read as {family.value}: correct decode.family"
        )
    return dense


def _refuse_normalised(family: Family, info: ModelInfo, plane: Plane) -> None:
    if plane.normalised:
        raise ModelError(f"{info.path.name}: {family.value} has no fractions: set decode.normalised to false")


def _rows_of_seven(info: ModelInfo, plane: Plane) -> YoloV7Rows:
    if len(info.outputs) != 1:
        raise ModelError(f"{info.path.name}: not one output [N, 7]: correct decode.family")
    return YoloV7Rows(info.outputs[0].name, plane)


def _nms_in_graph(info: ModelInfo, plane: Plane) -> NmsInGraph:
    roles = finished_roles(info.outputs)
    if roles is None:
        raise ModelError(f"{info.path.name}: no outputs for boxes, scores and classes: correct decode.family")
    count = roles.get("count")
    return NmsInGraph(
        boxes=roles["boxes"].name,
        scores=roles["scores"].name,
        classes=roles["classes"].name,
        count=None if count is None else count.name,
        plane=plane,
        cap=roles["boxes"].shape[1],
    )


def _two_outputs(info: ModelInfo, classes: int, plane: Plane) -> TwoOutputs:
    pair = box_and_score_outputs(info.outputs)
    if pair is None:
        raise ModelError(f"{info.path.name}: no outputs for boxes and scores: correct decode.family")
    return TwoOutputs(pair[0].name, pair[1].name, classes, plane)
