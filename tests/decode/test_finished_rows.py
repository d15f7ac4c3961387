"""Heads whose networks have done their own suppression."""

import numpy as np
import pytest

from app.config.sections import Nms
from app.decode.boxes import Plane
from app.decode.decoder import Decoder
from app.decode.end_to_end import EndToEnd
from app.decode.nms_in_graph import NmsInGraph
from app.decode.yolov7_rows import YoloV7Rows
from app.errors import BadOutput
from app.letterbox import fit

PLANE = Plane((640, 640))
KBOX = (270, 215, 370, 265)
SQUARE = fit((640, 640), (640, 640))
END_TO_END = EndToEnd("output0", PLANE, cap=300)
ROWS = YoloV7Rows("output", PLANE)
GRAPH = NmsInGraph("boxes", "scores", "classes", "num", PLANE, cap=100)


def three_hundred(*rows: tuple[float, ...]) -> dict[str, np.ndarray]:
    output = np.zeros((1, 300, 6), np.float32)
    output[0, : len(rows)] = rows
    return {"output0": output}


def test_dec_05_rows_are_corners_score_class() -> None:
    found = END_TO_END.candidates(three_hundred((*KBOX, 0.9, 17)), 0.0)
    assert (found.xyxy.tolist(), found.classes.tolist(), found.final) == ([list(KBOX)], [17], True)


def test_dec_05_centre_and_size_in_place_of_corners_is_refused() -> None:
    with pytest.raises(BadOutput, match=r"its right edge left of its left one; .* centre and size"):
        END_TO_END.candidates(three_hundred((320, 240, 100, 50, 0.9, 17)), 0.25)


@pytest.mark.parametrize("number", [17.5, -1, np.nan, 1e9])
def test_class_that_is_no_class_is_refused(number: float) -> None:
    with pytest.raises(BadOutput, match="is no class number"):
        END_TO_END.candidates(three_hundred((*KBOX, 0.9, number)), 0.25)


def test_nms_06_agnostic_works_on_a_network_without_suppression() -> None:
    outputs = three_hundred((*KBOX, 0.9, 3), (*KBOX, 0.8, 5))
    kept = [
        Decoder(END_TO_END, Nms(agnostic=agnostic), (), 80).run(outputs, SQUARE, 0.25).classes.tolist()
        for agnostic in (False, True)
    ]
    assert kept == [[3, 5], [3]]


def test_nms_07_full_list_is_saturated_and_one_short_is_not() -> None:
    rows = [(x, y, x + 9, y + 9, 0.9, 0) for x in range(0, 200, 10) for y in range(0, 150, 10)]
    for count, saturated in ((300, True), (299, False)):
        found = Decoder(END_TO_END, Nms(), (), 80).run(three_hundred(*rows[:count]), SQUARE, 0.25)
        assert (len(found), found.saturated) == (count, saturated)


def test_nms_07_full_list_whose_last_rows_are_under_the_threshold_hides_nothing() -> None:
    rows = [(x, y, x + 9, y + 9, 0.9, 0) for x in range(0, 200, 10) for y in range(0, 150, 10)]
    rows[-1] = (*rows[-1][:4], 0.1, 0)
    assert not END_TO_END.candidates(three_hundred(*rows), 0.25).saturated


def test_dec_07_row_becomes_the_box() -> None:
    outputs = {"output": np.array([[0, *KBOX, 17, 0.9]], np.float32)}
    found = ROWS.candidates(outputs, 0.25)
    np.testing.assert_allclose(found.scores, [0.9])
    assert (found.xyxy.tolist(), found.classes.tolist()) == ([list(KBOX)], [17])


@pytest.mark.parametrize("shape", [(0, 7), (0,)])
def test_dec_07_no_rows_are_no_detections(shape: tuple) -> None:
    assert len(ROWS.candidates({"output": np.zeros(shape, np.float32)}, 0.25).scores) == 0


def test_dec_07_each_row_goes_to_its_own_picture() -> None:
    rows = [[1, *KBOX, 3, 0.9], [0, *KBOX, 1, 0.8], [1, *KBOX, 4, 0.7]]
    outputs = {"output": np.array(rows, np.float32)}
    assert [ROWS.candidates(outputs, 0.25, sample).classes.tolist() for sample in (0, 1, 2)] == [[1], [3, 4], []]


def test_dec_07_score_before_class_is_refused() -> None:
    with pytest.raises(BadOutput, match="read as yolov7_rows"):
        ROWS.candidates({"output": np.array([[0, *KBOX, 0.9, 17]], np.float32)}, 0.25)


@pytest.mark.parametrize("number", [0.5, -1, np.nan])
def test_row_of_no_picture_is_refused(number: float) -> None:
    with pytest.raises(BadOutput, match="first column is no sample"):
        ROWS.candidates({"output": np.array([[number, *KBOX, 17, 0.9]], np.float32)}, 0.25)


def graph(count: float, found: int, rows: int = 100) -> dict[str, np.ndarray]:
    boxes = np.zeros((1, rows, 4), np.float32)
    boxes[0, :found] = KBOX
    scores = np.where(np.arange(rows) < found, 0.9, 0.0)[None].astype(np.float32)
    classes = np.where(np.arange(rows) < found, 17, -1)[None].astype(np.int32)
    return {"num": np.array([[count]]), "boxes": boxes, "scores": scores, "classes": classes}


def test_rows_past_the_count_are_padding_whatever_they_hold() -> None:
    assert len(GRAPH.candidates(graph(2, found=5), 0.25).scores) == 2


def test_without_a_count_rows_of_score_zero_are_padding() -> None:
    head = NmsInGraph("boxes", "scores", "classes", None, PLANE, cap=100)
    assert len(head.candidates(graph(0, found=5), 0.25).scores) == 5


def test_nms_07_count_at_its_cap_is_saturated() -> None:
    assert GRAPH.candidates(graph(100, found=100), 0.25).saturated
    assert not GRAPH.candidates(graph(99, found=99), 0.25).saturated


@pytest.mark.parametrize("count", [101, -1, np.nan])
def test_impossible_count_is_refused(count: float) -> None:
    with pytest.raises(BadOutput, match=r"output 'num': .* detections where 100 rows are there"):
        GRAPH.candidates(graph(count, found=1), 0.25)


def test_outputs_of_different_lengths_are_refused() -> None:
    outputs = graph(1, found=1) | {"scores": np.zeros((1, 50), np.float32)}
    with pytest.raises(BadOutput, match=r"output 'scores': shape \(1, 50\)"):
        GRAPH.candidates(outputs, 0.25)
