"""YOLOX: grid cells, logarithms, no padding above or left."""

import numpy as np
import pytest

from app.config.sections import Nms
from app.decode.anchors import cell_count, locate
from app.decode.decoder import Decoder
from app.decode.yolox import YoloX
from app.errors import BadOutput
from app.letterbox import fit

HEAD = YoloX("output", 80, (640, 640))


def raw(row: int, numbers: tuple[float, ...], cells: int = 8400) -> dict[str, np.ndarray]:
    output = np.zeros((1, cells, 85), np.float32)
    output[0, row, :4] = numbers
    output[0, row, [4, 5 + 17]] = 0.95, 0.9
    return {"output": output}


def test_dec_08_cell_and_logarithm_give_the_box_and_the_picture_sits_top_left() -> None:
    outputs = raw(29 * 80 + 39, (1, 1, np.log(12.5), np.log(6.25)))
    found = HEAD.candidates(outputs, 0.25)
    np.testing.assert_allclose(found.xyxy, [[270, 215, 370, 265]], rtol=1e-5)
    np.testing.assert_allclose(found.scores, [0.855], rtol=1e-6)
    detections = Decoder(HEAD, Nms(), (), 80).run(outputs, fit((1280, 720), (640, 640), top_left=True), 0.25)
    np.testing.assert_allclose(detections.xyxy, [[540, 430, 740, 530]], rtol=1e-5)


@pytest.mark.parametrize(
    ("row", "corner", "stride"),
    [
        (0, (0, 0), 8),
        (79, (79, 0), 8),
        (80, (0, 1), 8),
        (6399, (79, 59 + 20), 8),
        (6400, (0, 0), 16),  # the second grid begins
        (6400 + 41, (1, 1), 16),
        (8000, (0, 0), 32),  # the third
        (8399, (19, 19), 32),
    ],
)
def test_cells_are_numbered_grid_by_grid_and_row_by_row(row: int, corner: tuple, stride: int) -> None:
    cells = locate(np.array([row]), (640, 640))
    assert (tuple(cells.corners[0]), cells.strides[0, 0]) == (corner, stride)


def test_wide_input_has_wide_grids() -> None:
    assert cell_count((640, 480)) == 6300
    assert tuple(locate(np.array([80]), (640, 480)).corners[0]) == (0, 1)


def test_dec_08_boxes_that_the_network_decoded_itself_are_refused_with_the_remedy() -> None:
    with pytest.raises(BadOutput, match=r"decodes its boxes itself: set decode.family to yolov5"):
        HEAD.candidates(raw(2359, (320, 240, 100, 50)), 0.25)


def test_other_number_of_cells_than_the_input_has_is_refused() -> None:
    with pytest.raises(BadOutput, match="output 'output': shape"):
        HEAD.candidates(raw(0, (1, 1, 1, 1), cells=25200), 0.25)
