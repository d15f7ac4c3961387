"""The ways that are compared do the same thing."""

import cv2
import numpy as np
import pytest

from app.bench import letterbox
from app.bench.letterbox import OURS, picture, ways


@pytest.fixture
def opencv_threads():
    threads = cv2.getNumThreads()
    yield threads
    cv2.setNumThreads(threads)


@pytest.mark.parametrize(
    ("way", "tolerance"),
    [
        ("usual", 1e-6),
        ("blobFromImage", 1e-6),
        ("float first", 1.5 / 255),  # it rounds to no whole grey value after the resize
    ],
)
@pytest.mark.parametrize("size_wh", [letterbox.FULL_HD, letterbox.HD, (333, 500)])
def test_ours_gives_the_numbers_of_the_others(way, tolerance, size_wh):
    found = ways(picture(size_wh))

    np.testing.assert_allclose(found[OURS](), np.squeeze(found[way]()), rtol=0, atol=tolerance)


def test_each_part_has_all_ways_and_opencv_is_left_as_it_was(opencv_threads):
    cv2.setNumThreads(1)

    rows = letterbox.rows(rounds=1)

    parts = list(dict.fromkeys(row.part for row in rows))
    for part in parts:
        assert [row.what for row in rows if row.part == part] == [*ways(picture()), letterbox.FLOOR]
    assert any("1 thread" in part for part in parts)
    assert cv2.getNumThreads() == 1
