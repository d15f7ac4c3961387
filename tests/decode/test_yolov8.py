"""YOLOv8 and its kin: classes without objectness, either way round."""

import numpy as np
import pytest

from app.config.sections import Nms
from app.decode.boxes import Plane
from app.decode.decoder import Decoder
from app.decode.yolov8 import YoloV8
from app.errors import BadOutput
from app.letterbox import Letterbox

PLANE = Plane((640, 640))
HEAD = YoloV8("output0", 80, PLANE)


def test_dec_01_either_way_round_gives_the_one_box(kbox_yolov8: np.ndarray, landscape: Letterbox) -> None:
    for output in (kbox_yolov8, kbox_yolov8.transpose(0, 2, 1).copy()):
        found = Decoder(HEAD, Nms(), (), 80).run({"output0": output}, landscape, 0.25)
        assert (len(found), found.classes.tolist()) == (1, [17])
        np.testing.assert_allclose(found.xyxy, [[540, 150, 740, 250]], atol=1e-3)
        np.testing.assert_allclose(found.scores, [0.9])


@pytest.mark.parametrize(
    "value",
    [
        94.0,  # a coordinate read as a score
        658.98,
        -7.3,  # raw scores, no sigmoid
        1.01,
        np.nan,
        np.inf,
        -np.inf,
    ],
)
def test_dec_01_impossible_score_names_the_layout_even_under_the_threshold(
    value: float, kbox_yolov8: np.ndarray
) -> None:
    kbox_yolov8[0, 4 + 3, 17] = value
    with pytest.raises(
        BadOutput, match=r"'output0' of shape \[1, 84, 8400\] read as yolov8: a score of .*decode.family"
    ):
        HEAD.candidates({"output0": kbox_yolov8}, 0.25)


def test_dec_01_tensor_read_the_wrong_way_round_is_refused() -> None:
    output = np.random.default_rng(1).uniform(0, 640, (1, 8400, 84)).astype(np.float32)
    with pytest.raises(BadOutput, match="a score of"):
        YoloV8("output0", 8396, PLANE).candidates({"output0": output}, 0.25)


def test_scores_that_rounding_took_past_their_range_are_clipped(kbox_yolov8: np.ndarray) -> None:
    kbox_yolov8[0, 4 + 17, 4000] = 1.0005
    kbox_yolov8[0, 4 + 17, 4001] = -0.0
    assert HEAD.candidates({"output0": kbox_yolov8}, 0.25).scores.tolist() == [1.0]


def test_dec_02_nothing_is_multiplied(kbox_yolov8: np.ndarray) -> None:
    found = HEAD.candidates({"output0": kbox_yolov8}, 0.9)
    np.testing.assert_array_equal(found.scores, np.array([0.9], np.float32))


def test_dec_03_single_class() -> None:
    output = np.zeros((1, 5, 8400), np.float32)
    output[0, :, 4000] = 320, 240, 100, 50, 0.9
    found = YoloV8("output0", 1, PLANE).candidates({"output0": output}, 0.25)
    assert found.classes.tolist() == [0]
    np.testing.assert_allclose(found.xyxy, [[270, 215, 370, 265]])
    np.testing.assert_allclose(found.scores, [0.9])


def test_dec_05_score_of_zero_is_no_detection_even_at_threshold_zero(kbox_yolov8: np.ndarray) -> None:
    assert len(HEAD.candidates({"output0": kbox_yolov8}, 0.0).scores) == 1


def test_dec_11_declared_fractions_are_scaled(kbox_yolov8: np.ndarray) -> None:
    kbox_yolov8[0, :4] /= 640
    found = YoloV8("output0", 80, Plane((640, 640), normalised=True)).candidates({"output0": kbox_yolov8}, 0.25)
    np.testing.assert_allclose(found.xyxy, [[270, 215, 370, 265]], rtol=1e-5)


def test_dec_11_undeclared_fractions_are_refused_with_the_key(kbox_yolov8: np.ndarray) -> None:
    kbox_yolov8[0, :4] /= 640
    with pytest.raises(BadOutput, match=r"all boxes lie within 4 px.*set decode\.normalised to true"):
        HEAD.candidates({"output0": kbox_yolov8}, 0.25)


def test_dec_11_pixels_declared_as_fractions_are_refused_with_the_key(kbox_yolov8: np.ndarray) -> None:
    with pytest.raises(BadOutput, match=r"coordinate of 320 .* set decode\.normalised to false"):
        YoloV8("output0", 80, Plane((640, 640), normalised=True)).candidates({"output0": kbox_yolov8}, 0.25)


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        (0, np.nan, "1 box numbers are not finite"),
        (1, np.inf, "1 box numbers are not finite"),
        (2, 3e30, "a box coordinate of 3e"),  # its area would not fit float32
        (3, -50, "width or height -50"),
    ],
)
def test_impossible_box_is_refused(column: int, value: float, says: str, kbox_yolov8: np.ndarray) -> None:
    kbox_yolov8[0, column, 4000] = value
    with pytest.raises(BadOutput, match=says):
        HEAD.candidates({"output0": kbox_yolov8}, 0.25)


def test_nan_far_from_any_candidate_is_refused(kbox_yolov8: np.ndarray) -> None:
    kbox_yolov8[0, 0, 5] = np.nan
    with pytest.raises(BadOutput, match="not finite"):
        HEAD.candidates({"output0": kbox_yolov8}, 0.25)


def test_half_precision_is_read_as_single(kbox_yolov8: np.ndarray) -> None:
    found = HEAD.candidates({"output0": kbox_yolov8.astype(np.float16)}, 0.25)
    assert found.xyxy.dtype == found.scores.dtype == np.float32
    np.testing.assert_allclose(found.xyxy, [[270, 215, 370, 265]])


@pytest.mark.parametrize(
    "outputs",
    [
        {},  # no output at all
        {"other": np.zeros((1, 84, 8400), np.float32)},
        {"output0": np.zeros((84, 8400), np.float32)},  # batch axis lost
        {"output0": np.zeros((0, 84, 8400), np.float32)},  # no such sample
        {"output0": np.zeros((1, 83, 8400), np.float32)},  # another number of classes
    ],
)
def test_other_shape_than_the_file_promised_is_refused(outputs: dict) -> None:
    with pytest.raises(BadOutput, match="output"):
        HEAD.candidates(outputs, 0.25)


def test_no_candidates_at_all_are_no_detections() -> None:
    assert len(HEAD.candidates({"output0": np.zeros((1, 84, 0), np.float32)}, 0.25).scores) == 0


def test_samples_of_a_batch_are_read_apart(kbox_yolov8: np.ndarray) -> None:
    batch = {"output0": np.concatenate([np.zeros_like(kbox_yolov8), kbox_yolov8])}
    assert [len(HEAD.candidates(batch, 0.25, sample).scores) for sample in (0, 1)] == [0, 1]
