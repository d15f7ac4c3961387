"""What becomes one object, what stays, what goes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.sections import Merge, Refine
from app.refine.merge import merge, to_frame
from app.refine.pieces import MOST_PIECES
from app.refine.pool import Look
from app.refine.region import grid
from tests.refine.looks import boxes_of, found, rows_of, seen_in

SIZE = (960, 720)
HERE = (200, 200, 600, 600)
BESIDE = (500, 200, 900, 600)
BOX = (300, 300, 360, 340)
NEAR = (304, 302, 362, 343)
APART = (400, 400, 460, 440)


def merged(coarse, *looks, known=None, **keys):
    return merge(coarse, [Look(region, rows) for region, rows in looks], Refine(mode="grid", **keys), SIZE, known)


def test_without_a_second_look_nothing_changes():
    coarse = found((*BOX, 0.9), (*BOX, 0.8), (0, 0, 960, 720, 0.3))
    assert merge(coarse, [], Refine(), SIZE) is coarse


def test_what_lies_outside_the_region_stays():
    coarse = found((10, 10, 60, 50, 0.3))
    assert rows_of(merged(coarse, (HERE, found()))) == rows_of(coarse)


def test_what_lies_only_partly_inside_stays():
    coarse = found((150, 300, 260, 340, 0.3))
    assert rows_of(merged(coarse, (HERE, found()))) == rows_of(coarse)


def test_what_is_found_again_is_replaced_also_by_a_lower_score():
    assert rows_of(merged(found((*BOX, 0.9)), (HERE, found((*NEAR, 0.6))))) == [(*NEAR, 0.6, 1)]


def test_what_is_found_again_as_another_class_is_that_class():
    assert rows_of(merged(found((*BOX, 0.9, 1)), (HERE, found((*NEAR, 0.6, 3))))) == [(*NEAR, 0.6, 3)]


def test_small_thing_of_another_class_inside_a_box_replaces_nothing():
    coarse = found((*BOX, 0.9, 1))
    assert len(merged(coarse, (HERE, found((310, 310, 320, 320, 0.6, 4))))) == 2


def test_one_box_over_three_things_is_replaced_by_the_three():
    three = found((300, 300, 318, 340, 0.9), (320, 300, 338, 340, 0.8), (341, 300, 359, 340, 0.7))
    assert rows_of(merged(found((*BOX, 0.6)), (HERE, three))) == rows_of(three)


@pytest.mark.parametrize(
    ("clear", "score", "stays"),
    [
        ("uncertain", 0.3, False),  # a false alarm
        ("uncertain", 0.5, True),  # no doubt, so it stands against one look that missed it
        ("all", 0.9, False),  # the second look alone decides
        ("none", 0.3, True),  # nothing is ever lost
    ],
)
def test_what_is_not_found_again_goes_as_far_as_clear_says(clear, score, stays):
    assert len(merged(found((*BOX, score)), (HERE, found((*APART, 0.9))), clear=clear)) == 1 + stays


@pytest.mark.parametrize(
    ("region", "doubt"),
    [
        ((0, 0, 400, 400), (0, 0, 50, 40, 0.3)),  # top left
        ((560, 320, 960, 720), (900, 690, 960, 720, 0.3)),  # bottom right
    ],
)
def test_doubt_at_the_edge_of_the_picture_is_inside_the_region_there(region, doubt):
    assert len(merged(found(doubt), (region, found()))) == 0


def test_class_that_the_second_model_does_not_know_is_neither_cleared_nor_replaced():
    coarse = found((*BOX, 0.3, 1))
    both = merged(coarse, (HERE, found((*NEAR, 0.6, 3))), known={3}, clear="all")
    assert rows_of(both) == [(*NEAR, 0.6, 3), (*BOX, 0.3, 1)]


def test_doubt_of_which_a_piece_was_found_again_keeps_its_box_and_gets_the_score():
    coarse = found((480, 300, 560, 340, 0.3))
    cut = found((480, 300, 600, 340, 0.8))  # the network drew it to the region's edge
    assert rows_of(merged(coarse, (HERE, cut))) == [(480, 300, 560, 340, 0.8, 1)]


def test_piece_of_a_large_object_loses_to_the_whole_one_of_the_first_look():
    coarse = found((100, 100, 800, 650, 0.4, 0))
    filling = found((200, 200, 600, 600, 0.9, 0))
    assert rows_of(merged(coarse, (HERE, filling))) == [(100, 100, 800, 650, 0.9, 0)]


def test_piece_without_a_whole_stays():
    assert rows_of(merged(found(), (HERE, found((560, 300, 600, 340, 0.8))))) == [(560, 300, 600, 340, 0.8, 1)]


def test_second_looks_box_wins_over_the_first_looks_one_that_lies_partly_outside():
    coarse = found((196, 300, 260, 340, 0.9))  # reaches out of the region, so it was not replaced
    assert rows_of(merged(coarse, (HERE, found((210, 300, 262, 341, 0.6))))) == [(210, 300, 262, 341, 0.9, 1)]


def test_duplicate_in_what_two_regions_share_is_one():
    twice = [(HERE, found((520, 300, 580, 340, 0.7))), (BESIDE, found((522, 302, 581, 341, 0.8)))]
    assert rows_of(merged(found(), *twice)) == [(522, 302, 581, 341, 0.8, 1)]


def test_duplicates_of_two_classes_stay_two_unless_classes_do_not_count():
    twice = [(HERE, found((520, 300, 580, 340, 0.7, 1))), (BESIDE, found((522, 302, 581, 341, 0.8, 2)))]
    assert len(merged(found(), *twice)) == 2
    assert rows_of(merged(found(), *twice, merge=Merge(agnostic=True))) == [(522, 302, 581, 341, 0.8, 2)]


def test_weighted_box_is_the_mean_by_score_and_keeps_the_best_score():
    twice = [(HERE, found((520, 300, 580, 340, 0.6))), (BESIDE, found((524, 304, 584, 344, 0.2)))]
    assert rows_of(merged(found(), *twice, merge=Merge(mode="weighted"))) == [(521, 301, 581, 341, 0.6, 1)]


def test_weighted_box_takes_no_piece_and_no_first_look_into_its_mean():
    coarse = found((496, 296, 576, 346, 0.9))
    whole, piece = found((520, 300, 580, 340, 0.6)), found((500, 300, 580, 340, 0.9))
    result = merged(coarse, (HERE, whole), (BESIDE, piece), merge=Merge(mode="weighted"))
    assert boxes_of(result) == [(520, 300, 580, 340)]


def test_weighted_box_takes_no_first_look_into_its_mean():
    coarse = found((196, 300, 260, 340, 0.9))  # reaches out of the region, so it was not replaced
    result = merged(coarse, (HERE, found((210, 300, 262, 341, 0.6))), merge=Merge(mode="weighted"))
    assert boxes_of(result) == [(210, 300, 262, 341)]


def test_small_whole_thing_inside_a_large_one_of_another_look_stays():
    large, small = found((510, 250, 590, 450, 0.9)), found((530, 300, 550, 320, 0.8))
    assert len(merged(found(), (HERE, large), (BESIDE, small))) == 2


def test_boxes_of_one_look_never_suppress_one_another():
    pair = found((*BOX, 0.9), (*NEAR, 0.8))
    assert rows_of(merged(pair, (BESIDE, pair.where(np.array([], np.intp))))) == rows_of(pair)
    assert rows_of(merged(found(), (HERE, pair))) == rows_of(pair)
    pieces = found((540, 300, 600, 340, 0.9), (550, 304, 600, 338, 0.8))
    assert rows_of(merged(found(), (HERE, pieces))) == rows_of(pieces)


def test_box_that_belongs_to_a_better_one_lends_its_score_to_no_other():
    third = (450, 200, 850, 600)
    looks = [
        (HERE, found((510, 300, 570, 340, 0.8))),
        (BESIDE, found((528, 300, 588, 340, 0.7))),  # overlaps the first and the last, which do not overlap enough
        (third, found((546, 300, 606, 340, 0.6))),
    ]
    assert rows_of(merged(found(), *looks)) == [(510, 300, 570, 340, 0.8, 1), (546, 300, 606, 340, 0.6, 1)]


def test_hundreds_of_boxes_are_all_kept():
    many = found(
        *((220 + i % 18 * 20, 220 + i // 18 * 20, 230 + i % 18 * 20, 230 + i // 18 * 20, 0.6) for i in range(300))
    )
    assert len(merged(found((10, 10, 60, 50, 0.9)), (HERE, many))) == 301


def test_flags_of_all_looks_are_kept():
    loud = replace(found((*BOX, 0.9)), truncated=True, dropped_outside=2)
    capped = replace(found((*APART, 0.9)), saturated=True, dropped_outside=1)
    result = merged(loud, (HERE, capped))
    assert (result.truncated, result.saturated, result.dropped_outside) == (True, True, 3)


def test_rotated_boxes_keep_their_angles_and_are_never_averaged():
    def turned(angle, *rows):
        return replace(found(*rows), angles_rad=np.full(len(rows), angle, np.float32))

    twice = [(HERE, turned(0.1, (520, 300, 580, 340, 0.6))), (BESIDE, turned(0.2, (524, 304, 584, 344, 0.8)))]
    result = merged(turned(0.0), *twice, merge=Merge(mode="weighted"))
    assert rows_of(result) == [(524, 304, 584, 344, 0.8, 1)]
    assert result.angles_rad.tolist() == pytest.approx([0.2])


def test_more_pieces_than_any_picture_has_are_kept_as_they_are():
    many = found(*((590.0, 200 + i * 0.5, 600.0, 200.4 + i * 0.5, 0.5) for i in range(MOST_PIECES + 50)))
    assert len(merged(found(), (HERE, many))) == MOST_PIECES + 50


score = st.sampled_from([0.2, 0.4, 0.55, 0.7, 0.9])
box = st.tuples(
    st.integers(0, 900), st.integers(0, 660), st.integers(4, 400), st.integers(4, 400), score, st.integers(0, 2)
)
regions = st.lists(
    st.tuples(st.integers(0, 700), st.integers(0, 500), st.integers(50, 400), st.integers(50, 400)), max_size=4
)


def clipped(rows):
    return [(x, y, min(x + w, 960), min(y + h, 720), s, c) for x, y, w, h, s, c in rows]


@st.composite
def scenes(draw):
    """The first look's boxes, and second looks whose boxes lie anywhere in their regions."""
    looks = []
    for x, y, width, height in draw(regions):
        region = (x, y, min(x + width, 960), min(y + height, 720))
        looks.append(Look(region, to_frame(seen_in(region, *clipped(draw(st.lists(box, max_size=6)))), region[:2])))
    return found(*clipped(draw(st.lists(box, max_size=8)))), looks


sections = st.builds(
    lambda clear, mode, agnostic: Refine(clear=clear, merge=Merge(mode=mode, agnostic=agnostic)),
    st.sampled_from(["uncertain", "all", "none"]),
    st.sampled_from(["best", "weighted"]),
    st.booleans(),
)


@given(scenes(), sections)
def test_no_box_is_invented(scene, section):
    coarse, looks = scene
    given_rows = [row for part in (coarse, *(look.found for look in looks)) for row in rows_of(part)]
    scores, classes = {row[4] for row in given_rows}, {row[5] for row in given_rows}
    edges = np.array([row[:4] for row in given_rows]).reshape(-1, 4)
    for row in rows_of(merge(coarse, looks, section, SIZE)):
        assert row[4] in scores
        assert row[5] in classes
        assert len(edges) == 0 or ((row[0] >= edges[:, 0].min()) and (row[2] <= edges[:, 2].max()))
        if section.merge.mode == "best" and row[:4] not in {tuple(edge) for edge in edges.tolist()}:
            # Put together of pieces: each of its edges is one that somebody saw.
            assert all(row[side] in edges[:, side] for side in range(4))


@given(scenes(), sections)
def test_whole_box_that_only_one_look_saw_is_never_lost(scene, section):
    coarse, looks = scene
    result = boxes_of(merge(coarse, looks, section, SIZE))
    everyone = [coarse, *(look.found for look in looks)]
    for index, look in enumerate(looks, 1):
        left, top, right, bottom = look.region
        others = [b for n, part in enumerate(everyone) if n != index for b in boxes_of(part)]
        for x1, y1, x2, y2 in boxes_of(look.found):
            clear_of_edges = x1 >= left + 8 and y1 >= top + 8 and x2 <= right - 8 and y2 <= bottom - 8
            alone = all(b[2] <= x1 or x2 <= b[0] or b[3] <= y1 or y2 <= b[1] for b in others)
            assert not (clear_of_edges and alone) or (x1, y1, x2, y2) in result


@given(scenes(), sections)
def test_order_is_by_score_and_then_by_look(scene, section):
    coarse, looks = scene
    result = merge(coarse, looks, section, SIZE)
    assert (np.diff(result.scores) <= 0).all()
    assert rows_of(merge(coarse, looks, section, SIZE)) == rows_of(result)


@given(
    st.lists(st.tuples(st.integers(0, 47), st.integers(0, 35)), max_size=10, unique=True),
    st.integers(150, 500),
    st.sampled_from(["best", "weighted"]),
)
def test_perfect_looks_on_tiles_give_every_object_once_and_whole(cells, side, mode):
    # Objects of 14 px on a raster of 20 px: none touches another.
    things = [(x * 20 + 3, y * 20 + 3, x * 20 + 17, y * 20 + 17, 0.9) for x, y in sorted(cells)]
    tiles = grid(SIZE, (side, side), 0.1)
    looks = [Look(tile, to_frame(seen_in(tile, *things, least_px=1), tile[:2])) for tile in tiles]
    section = Refine(mode="grid", merge=Merge(mode=mode, edge_px=1.0))
    assert sorted(boxes_of(merge(found(), looks, section, SIZE))) == sorted(thing[:4] for thing in things)


@given(st.tuples(st.integers(0, 900), st.integers(0, 660), st.integers(1, 300), st.integers(1, 300)), st.data())
def test_way_into_a_crop_and_back_is_exact(corners, data):
    x, y, width, height = corners
    box = (x, y, x + width, y + height)
    left, top = data.draw(st.integers(0, x)), data.draw(st.integers(0, y))
    inside = seen_in((left, top, 1300, 1000), (*box, 0.9), least_px=1)
    assert boxes_of(to_frame(inside, (left, top))) == [box]
