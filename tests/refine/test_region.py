"""Tiles cover everything, lie in the picture and are whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.refine.region import around, grid, held_share, outward

sides = st.integers(1, 400)
sizes = st.tuples(sides, sides)
tiles = st.tuples(st.integers(16, 200), st.integers(16, 200))
overlaps = st.floats(0, 0.9)
edges = st.floats(-50, 450, allow_nan=False)


def inside(region, size_wh):
    left, top, right, bottom = region
    return 0 <= left < right <= size_wh[0] and 0 <= top < bottom <= size_wh[1]


@given(sizes, tiles, overlaps)
def test_tiles_cover_every_pixel_and_lie_in_the_picture(size_wh, tile_wh, overlap):
    seen = np.zeros(size_wh[::-1], np.bool_)
    for left, top, right, bottom in grid(size_wh, tile_wh, overlap):
        assert inside((left, top, right, bottom), size_wh)
        seen[top:bottom, left:right] = True
    assert seen.all()


@given(sizes, tiles, overlaps)
def test_all_tiles_are_whole_and_no_two_are_the_same(size_wh, tile_wh, overlap):
    found = grid(size_wh, tile_wh, overlap)
    whole = tuple(np.minimum(tile_wh, size_wh).tolist())
    assert {(right - left, bottom - top) for left, top, right, bottom in found} == {whole}
    assert len(set(found)) == len(found)


@given(sizes, tiles, overlaps)
def test_neighbours_repeat_at_least_the_overlap_to_the_pixel(size_wh, tile_wh, overlap):
    for axis in (0, 1):
        begins = sorted({tile[axis] for tile in grid(size_wh, tile_wh, overlap)})
        steps = np.diff(begins)
        assert (steps <= max(tile_wh[axis] * (1 - overlap), 1) + 1).all()


@given(sizes, tiles, overlaps, st.data())
def test_tiles_of_an_area_cover_it(size_wh, tile_wh, overlap, data):
    left, top = data.draw(st.integers(0, size_wh[0] - 1)), data.draw(st.integers(0, size_wh[1] - 1))
    right, bottom = data.draw(st.integers(left + 1, size_wh[0])), data.draw(st.integers(top + 1, size_wh[1]))
    seen = np.zeros(size_wh[::-1], np.bool_)
    for x1, y1, x2, y2 in grid(size_wh, tile_wh, overlap, (left, top, right, bottom)):
        assert inside((x1, y1, x2, y2), size_wh)
        seen[y1:y2, x1:x2] = True
    assert seen[top:bottom, left:right].all()


@pytest.mark.parametrize(
    ("size_wh", "tile_wh", "overlap", "columns", "rows"),
    [
        ((640, 480), (640, 480), 0.2, [0], [0]),  # fits exactly
        ((600, 400), (640, 480), 0.2, [0], [0]),  # smaller than a tile: the whole picture
        ((1280, 480), (640, 480), 0.0, [0, 640], [0]),  # no overlap, no rest
        ((1281, 480), (640, 480), 0.0, [0, 320, 641], [0]),  # one pixel more: shifted in, no sliver
        ((960, 720), (480, 480), 0.2, [0, 240, 480], [0, 240]),  # the sample pictures
        ((4000, 3000), (640, 640), 0.2, [0, 480, 960, 1440, 1920, 2400, 2880, 3360], [0, 472, 944, 1416, 1888, 2360]),
    ],
)
def test_tiles_of_known_sizes(size_wh, tile_wh, overlap, columns, rows):
    width, height = min(tile_wh[0], size_wh[0]), min(tile_wh[1], size_wh[1])
    assert list(grid(size_wh, tile_wh, overlap)) == [(x, y, x + width, y + height) for y in rows for x in columns]


@given(st.tuples(edges, edges, edges, edges), st.floats(0, 60), sizes, tiles)
def test_region_around_a_box_holds_it_and_lies_in_the_picture(corners, margin_px, size_wh, tile_wh):
    x, y = sorted(corners[::2]), sorted(corners[1::2])
    box = (x[0], y[0], x[1], y[1])
    region = around(box, margin_px, size_wh, tile_wh)
    assert inside(region, size_wh)
    wanted = outward(box, margin_px, size_wh)
    if inside(wanted, size_wh):
        assert held_share(wanted, region) == 1
    assert region[2] - region[0] >= min(tile_wh[0], size_wh[0])


@pytest.mark.parametrize(
    ("box", "margin_px", "region"),
    [
        ((450, 350, 470, 370), 10, (410, 310, 510, 410)),  # in the middle of a tile
        ((5, 700, 15, 720), 10, (0, 620, 100, 720)),  # in a corner: shifted in
        ((400, 300, 580, 320), 10, (390, 210, 590, 410)),  # twice as wide as a tile: twice the tile
        ((0, 0, 960, 720), 10, (0, 0, 960, 720)),  # the whole picture
    ],
)
def test_region_around_known_boxes(box, margin_px, region):
    assert around(box, margin_px, (960, 720), (100, 100)) == region


def test_share_of_a_region_in_another():
    assert held_share((0, 0, 10, 10), (5, 0, 20, 20)) == 0.5
    assert held_share((0, 0, 10, 10), (10, 0, 20, 20)) == 0
    assert held_share((5, 5, 5, 9), (0, 0, 20, 20)) == 0
