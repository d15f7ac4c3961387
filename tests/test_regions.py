"""Which boxes lie inside a region, borders included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.config.sections import Membership, Region
from app.errors import ConfigError
from app.regions import RegionShape

CENTRE = Membership()
U_SHAPE = [(0, 0), (30, 0), (30, 40), (70, 40), (70, 0), (100, 0), (100, 100), (0, 100)]


def region(*corners, unit="pixels"):
    return Region(unit=unit, polygon=[(float(x), float(y)) for x, y in corners])


def shape(*corners, unit="pixels", size_wh=(640, 480)):
    return RegionShape.of(region(*corners, unit=unit), size_wh)


def boxes(*rows):
    return np.asarray(rows, np.float32).reshape(-1, 4)


def test_roi_01_fractions_are_of_the_picture_and_not_cut_to_whole_numbers():
    tenth_to_half = shape((0.1, 0.1), (0.5, 0.5), unit="fraction")
    assert tenth_to_half.corners_xy.tolist() == [[64, 48], [320, 48], [320, 240], [64, 240]]
    whole = shape((0, 0), (1, 1), unit="fraction")
    assert whole.area_px == 640 * 480
    fine = shape((0.3805, 0), (1, 1), unit="fraction", size_wh=(10000, 100))
    assert fine.corners_xy[:, 0].min() == pytest.approx(3805.0, abs=1e-9)


@pytest.mark.parametrize(
    ("unit", "corners"),
    [
        ("pixels", ((0, 0), (1, 1))),  # fractions that were called pixels
        ("fraction", ((0.5, 0), (300, 200))),  # mixed
        ("fraction", ((10, 10), (50, 50))),  # percent
        ("fraction", ((-0.1, 0), (0.5, 0.5))),  # outside
    ],
)
def test_roi_01_numbers_that_do_not_fit_their_unit_are_refused(unit, corners):
    with pytest.raises(ValidationError, match="unit: "):
        region(*corners, unit=unit)


@pytest.mark.parametrize(
    "fields",
    [
        {"polygon": [(0.0, 0.0), (1.0, 1.0)]},  # no unit said
        {"polygon": [(10.0, 10.0), (50.0, 50.0)], "unit": "percent"},  # a unit that is none
    ],
)
def test_roi_01_a_region_without_a_known_unit_is_no_region(fields):
    with pytest.raises(ValidationError):
        Region(**fields)


def test_roi_02_a_region_partly_outside_the_picture_says_how_much_is_lost():
    assert shape((0, 640), (1920, 1280), size_wh=(1920, 1080)).lost == pytest.approx(200 / 640)
    assert shape((0, 0), (1920, 1080), size_wh=(1920, 1080)).lost == 0


def test_roi_02_a_region_wholly_outside_the_picture_is_refused():
    with pytest.raises(ConfigError, match=r"wholly outside the 1920×1080 picture; draw it"):
        shape((0, 1100), (1920, 1280), size_wh=(1920, 1080))


SQUARE = ((100, 100), (200, 200))
DIAMOND = ((150, 100), (200, 150), (150, 200), (100, 150))


@pytest.mark.parametrize(
    ("box", "inside"),
    [
        ((90, 140, 110, 160), True),  # centre exactly on the left edge
        ((190, 140, 210, 160), True),  # right
        ((140, 90, 160, 110), True),  # top
        ((140, 190, 160, 210), True),  # bottom
        ((90, 90, 110, 110), True),  # on a corner
        ((89, 140, 110, 160), False),  # half a pixel outside
        ((190, 140, 211, 160), False),
        ((140, 89, 160, 110), False),
        ((140, 190, 160, 211), False),
        ((199, 150, 299, 160), False),  # one pixel of it touches
    ],
)
def test_roi_03_centre_mode_is_inclusive_and_the_same_on_all_sides(box, inside):
    corners = ((100, 100), (200, 100), (200, 200), (100, 200))
    for drawn in (SQUARE, corners, corners[::-1], corners[2:] + corners[:2]):
        assert shape(*drawn).holds(boxes(box), CENTRE).tolist() == [inside], drawn


@pytest.mark.parametrize(
    ("box", "share"),
    [
        ((50, 120, 150, 160), 0.5),  # half in
        ((199, 120, 299, 160), 0.01),  # one pixel of a hundred
        ((200, 120, 300, 160), 0.0),  # border to border, nothing in common
        ((110, 110, 150, 150), 1.0),  # wholly in
        ((0, 0, 400, 400), 0.0625),  # region wholly in the box
        ((150, 150, 150, 150), 1.0),  # a box without area goes by its centre
    ],
)
def test_roi_03_overlap_mode_counts_the_share_of_the_box(box, share):
    square = shape(*SQUARE)
    assert square.overlaps(boxes(box))[0] == pytest.approx(share)
    if share:
        assert square.holds(boxes(box), Membership(mode="overlap", overlap=share))[0]
    assert not square.holds(boxes(box), Membership(mode="overlap", overlap=min(share + 0.001, 1.0)))[0] or share == 1


def test_roi_03_slanted_borders_are_inclusive_too():
    centres = np.asarray([[125, 125], [175, 125], [175, 175], [125, 175], [150, 100], [124, 125]], float)
    assert shape(*DIAMOND).holds_points(centres).tolist() == [True, True, True, True, True, False]


def test_roi_04_no_boxes_are_inside_no_region():
    for membership in (CENTRE, Membership(mode="overlap")):
        assert shape(*SQUARE).holds(np.empty((0, 4), np.float32), membership).shape == (0,)


def test_roi_05_area_does_not_depend_on_the_turning_direction_or_repeated_points():
    expected = 100 * 100 - 40 * 40
    assert shape(*U_SHAPE).area_px == expected
    assert shape(*U_SHAPE[::-1]).area_px == expected
    assert shape(*U_SHAPE, U_SHAPE[-1], U_SHAPE[0]).area_px == expected


def test_roi_05_the_notch_of_a_u_is_outside_and_is_no_overlap():
    for corners in (U_SHAPE, U_SHAPE[::-1]):
        u = shape(*corners)
        points = np.asarray([[50, 20], [15, 20], [85, 20], [50, 70], [50, 40]], float)
        assert u.holds_points(points).tolist() == [False, True, True, True, True]
        assert u.overlaps(boxes((20, 0, 80, 40)))[0] == pytest.approx(20 / 60)
        assert u.overlaps(boxes((35, 5, 65, 35)))[0] == pytest.approx(0)


@pytest.mark.parametrize(
    "corners",
    [
        ((0, 0), (100, 100), (100, 0), (0, 100)),  # bow-tie of no signed area
        ((0, 0), (100, 100), (100, 0), (0, 50)),  # lopsided bow-tie
        ((0, 0), (50, 50), (100, 100)),  # on one line
        ((0, 0), (100, 0)),  # a flat box
        ((5, 5), (5, 5), (5, 5)),  # one point
        (),  # nothing
    ],
)
def test_roi_05_polygons_that_enclose_nothing_clear_are_refused(corners):
    with pytest.raises(ValidationError):
        region(*corners)


def test_roi_09_an_object_in_the_common_part_of_two_regions_is_in_both():
    box = boxes((95, 95, 105, 105))
    assert shape((0, 0), (110, 110)).holds(box, CENTRE)[0]
    assert shape((90, 90), (200, 200)).holds(box, CENTRE)[0]


@given(
    st.tuples(*[st.floats(0, 400, width=32)] * 4),
    st.tuples(*[st.integers(0, 400)] * 4).filter(lambda c: abs(c[2] - c[0]) > 1 and abs(c[3] - c[1]) > 1),
)
def test_a_box_drawn_as_a_polygon_overlaps_as_two_rectangles_do(box, corners):
    x1, x2 = sorted((box[0], box[2]))
    y1, y2 = sorted((box[1], box[3]))
    cx1, cx2 = sorted((corners[0], corners[2]))
    cy1, cy2 = sorted((corners[1], corners[3]))
    common = max(0.0, min(x2, cx2) - max(x1, cx1)) * max(0.0, min(y2, cy2) - max(y1, cy1))
    square = RegionShape(np.asarray([[cx1, cy1], [cx1, cy2], [cx2, cy2], [cx2, cy1]], float))
    assert square.areas_in(np.asarray([[x1, y1, x2, y2]], float))[0] == pytest.approx(common, abs=1e-6)
    centre = np.asarray([[(x1 + x2) / 2, (y1 + y2) / 2]])
    slack = max(cx1 - centre[0, 0], centre[0, 0] - cx2, cy1 - centre[0, 1], centre[0, 1] - cy2)
    if abs(slack) > 0.01 or slack == 0:
        assert square.holds_points(centre)[0] == (slack <= 0)


@given(st.integers(0, 97), st.integers(0, 97), st.integers(2, 60), st.integers(2, 60))
def test_overlap_with_a_concave_polygon_equals_counted_pixels(x, y, width, height):
    u = shape(*U_SHAPE)
    xs, ys = np.meshgrid(np.arange(x, x + width) + 0.5, np.arange(y, y + height) + 0.5)
    counted = u.holds_points(np.stack([xs.ravel(), ys.ravel()], axis=1)).mean()
    assert u.overlaps(boxes((x, y, x + width, y + height)))[0] == pytest.approx(counted)
