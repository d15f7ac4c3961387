"""Segmentation networks: their mask coefficients are no classes."""

import numpy as np

from app.decode.boxes import Plane
from app.decode.segment import Segment


def test_dec_12_mask_coefficient_is_no_class() -> None:
    output = np.zeros((1, 116, 8400), np.float32)
    output[0, :4, 4000] = 320, 240, 100, 50
    output[0, [4 + 17, 100], 4000] = 0.9, 5.0
    head = Segment("output0", 80, 32, Plane((640, 640)))
    for tensor in (output, output.transpose(0, 2, 1)):
        found = head.candidates({"output0": tensor}, 0.25)
        assert found.classes.tolist() == [17]
        np.testing.assert_allclose(found.scores, [0.9])


def test_negative_coefficients_are_as_good_as_any() -> None:
    output = np.full((1, 38, 21), -4, np.float32)
    output[0, :6] = 0
    head = Segment("output0", 2, 32, Plane((32, 32)))
    assert len(head.candidates({"output0": output}, 0.25).scores) == 0
