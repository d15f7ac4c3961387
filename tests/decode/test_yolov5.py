"""YOLOv5 and YOLOv7: objectness times class."""

import numpy as np
import pytest

from app.decode.boxes import Plane
from app.decode.yolov5 import YoloV5
from app.errors import BadOutput

PLANE = Plane((640, 640))
HEAD = YoloV5("output0", 80, PLANE)


def output_with(**values: float) -> dict[str, np.ndarray]:
    """One candidate, KBOX, with its objectness and the score of class 17."""
    output = np.zeros((1, 25200, 85), np.float32)
    output[0, 12345, :4] = 320, 240, 100, 50
    output[0, 12345, [4, 5 + 17]] = values["objectness"], values["score"]
    return {"output0": output}


def test_dec_02_objectness_and_class_are_multiplied() -> None:
    outputs = output_with(objectness=0.95, score=0.9)
    found = HEAD.candidates(outputs, 0.85)
    np.testing.assert_allclose(found.scores, [0.855], rtol=1e-6)
    np.testing.assert_allclose(found.xyxy, [[270, 215, 370, 265]])
    assert found.classes.tolist() == [17]
    assert len(HEAD.candidates(outputs, 0.86).scores) == 0


def test_dec_02_sure_class_of_nothing_is_nothing() -> None:
    outputs = output_with(objectness=0.05, score=0.99)
    assert len(HEAD.candidates(outputs, 0.25).scores) == 0
    np.testing.assert_allclose(HEAD.candidates(outputs, 0.04).scores, [0.0495], rtol=1e-5)


def test_dec_03_single_class_keeps_its_class_and_both_factors() -> None:
    outputs = {"output0": output_with(objectness=0.95, score=0)["output0"][:, :, :6].copy()}
    outputs["output0"][0, 12345, 5] = 0.9
    found = YoloV5("output0", 1, PLANE).candidates(outputs, 0.25)
    assert found.classes.tolist() == [0]
    np.testing.assert_allclose(found.scores, [0.855], rtol=1e-6)


@pytest.mark.parametrize(("row", "column", "value"), [(0, 4, 12.0), (7, 80, -3.0), (9, 84, np.nan), (9, 2, np.inf)])
def test_dec_01_impossible_number_anywhere_is_refused(row: int, column: int, value: float) -> None:
    outputs = output_with(objectness=0.95, score=0.9)
    outputs["output0"][0, row, column] = value
    with pytest.raises(BadOutput, match="read as yolov5"):
        HEAD.candidates(outputs, 0.25)


def test_dec_08_raw_yolox_read_as_yolov5_is_refused() -> None:
    outputs = output_with(objectness=0.95, score=0.9)
    outputs["output0"][0, 12345, :4] = 1, 1, np.log(12.5), np.log(6.25)
    with pytest.raises(BadOutput, match="read as yolov5"):
        HEAD.candidates(outputs, 0.25)
