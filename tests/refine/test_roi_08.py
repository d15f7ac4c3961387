"""ROI-08: crops and tiles give objects once, whole, and where they are in the picture."""

import pytest

from app.config.sections import Merge, Refine
from app.refine import Refiner
from app.refine.merge import merge, to_frame
from app.refine.pool import Look
from tests.refine.looks import NAMES, boxes_of, found, rows_of, seen_in

SIZE = (960, 720)
TILES = [(0, 0, 480, 720), (480, 0, 960, 720)]
LAPPING = [(0, 0, 520, 720), (440, 0, 960, 720)]


def looks(regions, *objects):
    return [Look(region, to_frame(seen_in(region, *objects), region[:2])) for region in regions]


def grid(**keys):
    return Refine(mode="grid", **keys)


def test_roi_08_object_in_a_crop_comes_back_by_the_crops_offset():
    moved = to_frame(found((10, 20, 40, 60, 0.9)), (300, 200))
    assert rows_of(moved) == [(310, 220, 340, 260, 0.9, 1)]


def test_roi_08_object_in_a_crop_comes_back_in_the_frame(eye):
    scene = eye(SIZE, [(330, 240, 360, 270, 0.9)])
    section = Refine(tile_width=100, tile_height=100, uncertain=[0.1, 0.5], margin_px=0.0)
    # The doubt's middle is (350, 250), so the crop's offset is (300, 200).
    refined = Refiner(section, NAMES).run(scene.image, found((340, 240, 360, 260, 0.3)), scene.look)
    assert refined.looked == ((300, 200, 400, 300),)
    assert rows_of(refined.detections) == [(330, 240, 360, 270, 0.9, 1)]


@pytest.mark.parametrize(
    ("regions", "thing"),
    [
        (TILES, (400, 100, 560, 200)),  # tiles that only touch, half on each side
        (TILES, (470, 100, 700, 200)),  # 10 px of it on the left
        (LAPPING, (300, 100, 700, 200)),  # wider than what the tiles have in common
        (LAPPING, (450, 100, 510, 200)),  # whole in both
        (LAPPING, (400, 100, 500, 200)),  # whole on the left, cut off on the right
        (LAPPING, (0, 0, 960, 720)),  # the whole picture
    ],
)
def test_roi_08_object_across_the_border_of_two_tiles_is_one_and_whole(regions, thing):
    merged = merge(found(), looks(regions, (*thing, 0.8)), grid(), SIZE)
    assert rows_of(merged) == [(*thing, 0.8, 1)]


def test_roi_08_object_across_the_border_that_the_first_look_saw_keeps_that_box():
    coarse = found((398, 97, 563, 204, 0.6))
    merged = merge(coarse, looks(TILES, (400, 100, 560, 200, 0.9)), grid(), SIZE)
    assert rows_of(merged) == [(398, 97, 563, 204, 0.9, 1)]


def test_roi_08_object_on_the_corner_of_four_tiles_is_one_and_whole():
    quarters = [(x, y, x + 480, y + 360) for y in (0, 360) for x in (0, 480)]
    merged = merge(found(), looks(quarters, (400, 300, 560, 420, 0.8)), grid(), SIZE)
    assert rows_of(merged) == [(400, 300, 560, 420, 0.8, 1)]


def test_roi_08_slanting_object_whose_halves_share_little_of_the_border_is_one():
    halves = [
        Look(TILES[0], found((300, 100, 480, 210, 0.7))),
        Look(TILES[1], found((480, 205, 700, 330, 0.6))),
    ]
    assert rows_of(merge(found(), halves, grid(), SIZE)) == [(300, 100, 700, 330, 0.7, 1)]


@pytest.mark.parametrize("regions", [TILES, LAPPING])
def test_roi_08_two_objects_one_above_the_other_on_the_border_stay_two(regions):
    things = [(400, 100, 560, 200, 0.8), (400, 202, 560, 302, 0.7)]
    merged = merge(found(), looks(regions, *things), grid(), SIZE)
    assert rows_of(merged) == [(*thing, 1) for thing in things]


def test_roi_08_two_objects_side_by_side_at_the_border_stay_two():
    things = [(380, 100, 478, 200, 0.8), (482, 100, 580, 200, 0.7)]
    section = grid(merge=Merge(edge_px=1.0))  # nearer than that to the border is cut off
    assert rows_of(merge(found(), looks(TILES, *things), section, SIZE)) == [(*thing, 1) for thing in things]


def test_roi_08_halves_of_two_classes_stay_two_unless_classes_do_not_count():
    halves = [Look(TILES[0], found((400, 100, 480, 200, 0.8, 1))), Look(TILES[1], found((480, 100, 560, 200, 0.7, 3)))]
    assert len(merge(found(), halves, grid(), SIZE)) == 2
    one = merge(found(), halves, grid(merge=Merge(agnostic=True)), SIZE)
    assert rows_of(one) == [(400, 100, 560, 200, 0.8, 1)]
    backwards = merge(found(), halves[::-1], grid(merge=Merge(agnostic=True)), SIZE)
    assert rows_of(backwards) == rows_of(one)


def test_roi_08_half_that_has_its_own_other_half_takes_no_second_one():
    left = Look(TILES[0], found((400, 100, 480, 200, 0.8), (400, 150, 480, 250, 0.7)))
    right = Look(TILES[1], found((480, 100, 560, 200, 0.8)))
    merged = merge(found(), [left, right], grid(), SIZE)
    assert rows_of(merged) == [(400, 100, 560, 200, 0.8, 1), (400, 150, 480, 250, 0.7, 1)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            Look((0, 0, 300, 720), found((250, 100, 300, 200, 0.8))),
            Look((500, 0, 800, 720), found((500, 100, 560, 200, 0.8))),
        ),  # far apart
        (
            Look((600, 0, 900, 720), found((850, 100, 900, 200, 0.8))),
            Look((440, 0, 960, 720), found((440, 100, 500, 200, 0.8))),
        ),  # back to back
    ],
)
def test_roi_08_pieces_that_do_not_meet_stay_two(first, second):
    assert len(merge(found(), [first, second], grid(), SIZE)) == 2


def test_roi_08_object_on_the_border_of_the_picture_is_no_piece():
    thing = (900, 650, 960, 720, 0.8)
    assert boxes_of(merge(found(), looks(LAPPING, thing), grid(), SIZE)) == [thing[:4]]
