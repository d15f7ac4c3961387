"""Of boxes that overlap, the best one stays."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.sections import Nms
from app.decode.groups import read_groups
from app.decode.nms import best_first, nms
from app.errors import ConfigError

BOX = (100, 100, 200, 200)


def kept(boxes: list, scores: list, groups: list, **section: float) -> list[int]:
    arrays = np.array(boxes, np.float32).reshape(-1, 4), np.array(scores, np.float32), np.array(groups, np.int64)
    return nms(*arrays, Nms(**section)).rows.tolist()


def tiny_boxes(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Disjoint boxes of 4 x 4 px, all of one class, with scores that rise."""
    x, y = np.arange(n) % 160 * 8, np.arange(n) // 160 * 8
    xyxy = np.stack([x, y, x + 4, y + 4], axis=1).astype(np.float32)
    return xyxy, np.linspace(0.3, 0.9, n, dtype=np.float32), np.zeros(n, np.int64)


def test_nms_01_one_object_with_two_labels_stays_twice_per_class() -> None:
    assert kept([BOX, BOX], [0.9, 0.8], [0, 1]) == [0, 1]


def test_nms_01_one_object_with_two_labels_stays_once_across_classes() -> None:
    groups = read_groups(Nms(agnostic=True), ("a", "b")).of(np.array([0, 1]))
    assert kept([BOX, BOX], [0.9, 0.8], groups.tolist()) == [0]


def test_nms_01_small_part_inside_a_big_one_of_another_class_survives() -> None:
    assert kept([BOX, (110, 110, 195, 195)], [0.9, 0.8], [0, 1]) == [0, 1]


def test_nms_01_classes_of_one_group_suppress_one_another_and_no_others() -> None:
    section = Nms(groups=[["screw", "hole"]])
    groups = read_groups(section, ("cover", "screw", "hole")).of(np.array([0, 1, 2]))
    assert kept([BOX, BOX, BOX], [0.7, 0.8, 0.9], groups.tolist()) == [2, 0]


def test_group_with_a_class_that_the_network_has_not_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"nms\.groups: the network has no class 'skrew'; it has screw, hole"):
        read_groups(Nms(groups=[["skrew", "hole"]]), ("screw", "hole"))


def test_class_in_two_groups_is_refused() -> None:
    with pytest.raises(ConfigError, match="class 'b' stands in two groups; join them"):
        read_groups(Nms(groups=[["a", "b"], ["b", "c"]]), ("a", "b", "c"))


def test_class_that_no_name_covers_is_a_group_of_its_own() -> None:
    assert read_groups(Nms(groups=[["b", "a"]]), ("a", "b", "c")).of(np.array([7, 0, 1, 2])).tolist() == [7, 0, 0, 2]


def test_nms_02_boxes_of_two_classes_far_apart_never_suppress_one_another() -> None:
    assert kept([(640, 0, 740, 50), (0, 0, 100, 50)], [0.9, 0.8], [0, 1]) == [0, 1]


def test_nms_02_coordinates_keep_their_fraction_for_high_classes() -> None:
    # In half precision with an offset per class, 100.3 would become 96 and these two would be one.
    boxes = [(100.3, 0, 101.3, 8), (101.4, 0, 102.4, 8)]
    assert kept(boxes, [0.9, 0.8], [36, 36], iou=0.0) == [0, 1]


def test_nms_03_thousands_of_candidates_are_bounded_and_flagged() -> None:
    began = time.thread_time()
    result = nms(*tiny_boxes(25_200), Nms())
    assert time.thread_time() - began < 2  # a plain loop takes 8 s; it takes 0.1 s itself
    assert result.truncated
    assert result.saturated
    assert result.rows.tolist() == list(range(25_199, 24_899, -1))


def test_nms_04_as_many_candidates_as_allowed_are_not_truncated() -> None:
    result = nms(*tiny_boxes(300), Nms(max_candidates=300, max_boxes=300))
    assert (len(result.rows), result.truncated, result.saturated) == (300, False, False)


def test_nms_04_one_box_too_many_is_flagged_not_silent() -> None:
    result = nms(*tiny_boxes(301), Nms(max_candidates=301, max_boxes=300))
    assert (len(result.rows), result.truncated, result.saturated) == (300, False, True)


def test_nms_08_equal_scores_keep_the_first_every_time() -> None:
    survivors = {tuple(kept([BOX, BOX, BOX], [0.5, 0.5, 0.5], [0, 0, 0])) for _ in range(100)}
    assert survivors == {(0,)}


def test_nms_08_the_cut_among_equal_scores_takes_the_first() -> None:
    scores = np.array([0.5, 0.9, 0.5, 0.5, 0.1], np.float32)
    assert best_first(scores, 3).tolist() == [1, 0, 2]


def test_boxes_are_one_object_only_above_the_overlap_asked_for() -> None:
    half = (100, 100, 200, 150)  # shares exactly half
    assert kept([BOX, half], [0.9, 0.8], [0, 0], iou=0.5) == [0, 1]
    assert kept([BOX, half], [0.9, 0.8], [0, 0], iou=0.49) == [0]


def test_no_boxes_are_no_boxes() -> None:
    assert kept([], [], []) == []


def plain(boxes: list, scores: list, groups: list, iou: float, most: int) -> list[int]:
    """The definition, one pair at a time."""
    left: list[int] = []
    for row in sorted(range(len(boxes)), key=lambda index: (-scores[index], index)):
        if not any(groups[row] == groups[other] and overlap(boxes[row], boxes[other]) > iou for other in left):
            left.append(row)
    return left[:most]


def overlap(a: tuple, b: tuple) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


BOXES = st.builds(
    lambda x, y, w, h: (x, y, x + w, y + h),
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(1, 20),
    st.integers(1, 20),
)
ROWS = st.lists(st.tuples(BOXES, st.sampled_from([0.25, 0.5, 0.75, 1.0]), st.integers(0, 2)), max_size=40)


@given(ROWS, st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.integers(1, 40))
def test_result_is_that_of_the_plain_definition(rows: list, iou: float, most: int) -> None:
    boxes, scores, groups = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    assert kept(boxes, scores, groups, iou=iou, max_boxes=most) == plain(boxes, scores, groups, iou, most)


def test_result_is_that_of_the_plain_definition_over_several_blocks() -> None:
    rng = np.random.default_rng(8)
    corner, size = rng.integers(0, 200, (500, 2)), rng.integers(1, 60, (500, 2))
    boxes = [tuple(map(int, row)) for row in np.concatenate([corner, corner + size], axis=1)]
    scores, groups = (rng.integers(1, 64, 500) / 64).tolist(), rng.integers(0, 3, 500).tolist()
    assert kept(boxes, scores, groups, iou=0.25) == plain(boxes, scores, groups, 0.25, 300)
