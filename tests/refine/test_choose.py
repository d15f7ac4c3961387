"""What is worth a second look, and in which order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.sections import Refine, Region
from app.refine.choose import choose
from app.refine.region import held_share
from tests.refine.looks import NAMES, found

SIZE = (960, 720)
TILE = {"tile_width": 100, "tile_height": 100, "margin_px": 0.0}


def region(unit, *polygon):
    return Region(unit=unit, polygon=list(polygon))


def at(x, y, score, cls=1, side=20):
    """A square around a point."""
    return (x - side / 2, y - side / 2, x + side / 2, y + side / 2, score, cls)


def middles(regions):
    return [((left + right) // 2, (top + bottom) // 2) for left, top, right, bottom in regions]


def test_doubts_come_likeliest_first_and_what_is_sure_or_hardly_there_not_at_all():
    coarse = found(at(100, 100, 0.2), at(300, 100, 0.4), at(500, 100, 0.9), at(700, 100, 0.05), at(100, 500, 0.3))
    assert middles(choose(coarse, Refine(**TILE), SIZE)) == [(300, 100), (100, 500), (100, 100)]


def test_range_of_doubt_begins_at_its_low_end_and_ends_below_its_high_one():
    coarse = found(at(100, 100, 0.1), at(300, 100, 0.5))
    assert middles(choose(coarse, Refine(**TILE), SIZE)) == [(100, 100)]


def test_small_things_come_behind_doubts_and_smallest_first():
    coarse = found(at(100, 100, 0.9, side=12), at(300, 100, 0.8, side=8), at(500, 100, 0.2), at(700, 100, 0.9, side=16))
    section = Refine(**TILE, small_px=16.0)
    assert middles(choose(coarse, section, SIZE)) == [(500, 100), (300, 100), (100, 100)]


def test_doubts_that_one_region_shows_share_it():
    coarse = found(at(300, 300, 0.4), at(320, 310, 0.3), at(360, 300, 0.2))
    assert middles(choose(coarse, Refine(**TILE), SIZE)) == [(300, 300), (360, 300)]


def test_fixed_regions_come_behind_doubts_in_their_order():
    shapes = {
        "right": region("pixels", (800, 600), (860, 640)),
        "left": region("fraction", (0.0, 0.0), (0.1, 0.1)),
    }
    coarse = found(at(300, 300, 0.4))
    section = Refine(mode="regions", **TILE)
    assert middles(choose(coarse, section, SIZE, shapes)) == [(300, 300), (830, 620), (50, 50)]
    named = section.model_copy(update={"regions": ["left"]})
    assert middles(choose(coarse, named, SIZE, shapes)) == [(300, 300), (50, 50)]


def test_fixed_region_that_a_doubt_shows_already_is_left_out():
    shapes = {"a": region("pixels", (280, 280), (330, 330))}
    assert len(choose(found(at(300, 300, 0.4)), Refine(mode="regions", **TILE), SIZE, shapes)) == 1


def test_fixed_region_larger_than_a_tile_gets_several():
    shapes = {"wide": region("pixels", (100, 100), (400, 150))}
    regions = choose(found(), Refine(mode="regions", overlap=0.0, **TILE), SIZE, shapes)
    assert regions == ((100, 75, 200, 175), (200, 75, 300, 175), (300, 75, 400, 175))


def test_fixed_region_outside_the_picture_is_not_looked_at():
    shapes = {"off": region("pixels", (2000, 100), (2100, 200))}
    assert choose(found(), Refine(mode="regions", **TILE), SIZE, shapes) == ()


def test_regions_are_for_the_mode_that_says_so():
    shapes = {"a": region("pixels", (280, 280), (330, 330))}
    assert choose(found(), Refine(**TILE), SIZE, shapes) == ()


def test_tiles_with_the_likeliest_doubt_come_first():
    section = Refine(mode="grid", tile_width=480, tile_height=360, overlap=0.0)
    plain = [(0, 0, 480, 360), (480, 0, 960, 360), (0, 360, 480, 720), (480, 360, 960, 720)]
    assert choose(found(), section, SIZE) == tuple(plain)
    coarse = found(at(700, 600, 0.4), at(100, 600, 0.2), at(900, 10, 0.95))
    assert choose(coarse, section, SIZE) == (plain[3], plain[2], plain[0], plain[1])


def test_tiles_within_a_class_cover_its_boxes_only():
    section = Refine(mode="grid", tile_width=300, tile_height=300, overlap=0.0, within="cover", margin_px=10.0)
    coarse = found((110, 210, 690, 490, 0.9, 0), at(850, 50, 0.9))
    assert choose(coarse, section, SIZE) == ((100, 200, 400, 500), (400, 200, 700, 500))


def test_tiles_within_a_class_come_once_where_two_boxes_are_one_thing():
    section = Refine(mode="grid", tile_width=300, tile_height=300, within="cover")
    coarse = found((110, 210, 690, 490, 0.9, 0), (112, 212, 680, 489, 0.6, 0))
    assert choose(coarse, section, SIZE) == choose(coarse.where(np.array([0])), section, SIZE)


@pytest.mark.parametrize("coarse", [found(), found((110, 210, 690, 490, 0.3, 0))], ids=["none", "only a doubt"])
def test_tiles_within_a_class_that_was_not_found_cover_the_whole_picture(coarse):
    within = Refine(mode="grid", tile_width=300, tile_height=300, within="cover")
    everywhere = Refine(mode="grid", tile_width=300, tile_height=300)
    assert choose(coarse, within, SIZE) == choose(coarse, everywhere, SIZE)


def test_rotated_boxes_are_looked_at_with_their_corners():
    flat = found((380, 345, 580, 375, 0.3))
    upended = type(flat)(flat.xyxy, flat.scores, flat.classes, NAMES, np.array([np.pi / 2], np.float32))
    (only,) = choose(upended, Refine(**TILE), SIZE)
    assert held_share((465, 260, 495, 460), only) == 1


scores = st.floats(0, 1, width=32)
boxes = st.tuples(st.integers(0, 900), st.integers(0, 660), st.integers(1, 300), st.integers(1, 300), scores)


@given(st.lists(boxes, max_size=12), st.sampled_from(["uncertain", "regions", "grid"]), st.integers(16, 500))
def test_regions_lie_in_the_picture_and_never_come_twice(rows, mode, side):
    coarse = found(*((x, y, min(x + w, 960), min(y + h, 720), score) for x, y, w, h, score in rows))
    section = Refine(mode=mode, tile_width=side, tile_height=side, small_px=30.0)
    regions = choose(coarse, section, SIZE, {"a": region("fraction", (0.2, 0.1), (0.9, 0.4), (0.3, 0.8))})
    assert len(set(regions)) == len(regions)
    for left, top, right, bottom in regions:
        assert 0 <= left < right <= 960
        assert 0 <= top < bottom <= 720


@given(st.lists(boxes, max_size=12), st.integers(16, 500))
def test_every_doubt_is_whole_in_some_region(rows, side):
    coarse = found(*((x, y, min(x + w, 960), min(y + h, 720), score) for x, y, w, h, score in rows))
    section = Refine(tile_width=side, tile_height=side)
    regions = choose(coarse, section, SIZE)
    for box, score in zip(coarse.xyxy.astype(int).tolist(), coarse.scores, strict=True):
        assert not 0.1 <= score < 0.5 or any(held_share(tuple(box), region) == 1 for region in regions)
