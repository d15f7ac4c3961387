"""Boxes and class scores in two outputs."""

from collections.abc import Callable

import numpy as np
import pytest

from app.config.sections import Decode
from app.decode.family import detect_family
from app.decode.heads import head_for
from app.errors import BadOutput
from app.model import Family, ModelInfo, TensorSpec


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_dec_10_outputs_are_paired_in_either_order(order: tuple[str, str], describe: Callable[..., ModelInfo]) -> None:
    boxes, scores = np.zeros((1, 8400, 4), np.float32), np.zeros((1, 8400, 80), np.float32)
    boxes[0, 4000], scores[0, 4000, 17] = (270, 215, 370, 265), 0.9
    tensors = {"a": boxes, "b": scores}
    info = describe(*(TensorSpec(name, tensors[name].shape, "float32") for name in order))
    family, classes = detect_family(info, Decode())
    found = head_for(family, info, classes, (640, 640), Decode()).candidates(tensors, 0.25)
    assert (found.xyxy.tolist(), found.classes.tolist()) == ([[270, 215, 370, 265]], [17])


def test_boxes_and_scores_of_different_lengths_are_refused(describe: Callable[..., ModelInfo]) -> None:
    info = describe((1, 8400, 4), (1, 8400, 80))
    head = head_for(Family.TWO_OUTPUTS, info, 80, (640, 640), Decode())
    outputs = {"output0": np.zeros((1, 8400, 4), np.float32), "output1": np.zeros((1, 100, 80), np.float32)}
    with pytest.raises(BadOutput, match=r"output 'output1': shape \(1, 100, 80\)"):
        head.candidates(outputs, 0.25)
