"""ROI-09: what lies in the common part of two regions is seen twice and is one object."""

import pytest

from app.config.sections import Merge, Refine
from app.config.sections import Region as Shape
from app.refine import Refiner
from tests.refine.looks import NAMES, found, rows_of

SIZE = (960, 720)


def box(left, top, right, bottom):
    return Shape(unit="pixels", polygon=[(left, top), (right, top), (right, bottom), (left, bottom)])


LAPPING = {"left": box(100, 100, 400, 300), "right": box(300, 100, 600, 300)}


def section(**keys):
    return Refine(**{"mode": "regions", "tile_width": 300, "tile_height": 200, "margin_px": 0.0, **keys})


@pytest.mark.parametrize("mode", ["best", "weighted"])
@pytest.mark.parametrize(
    "thing",
    [
        (330, 150, 370, 190),  # whole in both
        (280, 150, 340, 190),  # whole on the left, cut by the edge of the right one
        (360, 150, 420, 190),  # the other way round
        (250, 150, 450, 190),  # wider than the common part: cut in both
    ],
)
def test_roi_09_an_object_in_two_regions_is_one_and_whole(eye, thing, mode):
    scene = eye(SIZE, [(*thing, 0.8)])
    refined = Refiner(section(merge=Merge(mode=mode)), NAMES, LAPPING).run(scene.image, found(), scene.look)
    assert len(refined.looked) == 2
    assert rows_of(refined.detections) == [(*thing, 0.8, 1)]


def test_roi_09_two_objects_in_the_common_part_stay_two(eye):
    things = [(320, 150, 350, 190, 0.8), (353, 150, 383, 190, 0.7)]
    scene = eye(SIZE, things)
    refined = Refiner(section(), NAMES, LAPPING).run(scene.image, found(), scene.look)
    assert rows_of(refined.detections) == [(*thing, 1) for thing in things]


def test_roi_09_two_doubts_whose_regions_overlap_are_looked_at_and_counted_once_each(eye):
    things = [(300, 150, 340, 190, 0.9), (520, 150, 560, 190, 0.8)]
    scene = eye(SIZE, things)
    coarse = found((298, 148, 342, 192, 0.4), (518, 148, 562, 192, 0.3))
    refined = Refiner(section(mode="uncertain"), NAMES).run(scene.image, coarse, scene.look)
    assert len(refined.looked) == 2
    assert rows_of(refined.detections) == [(*thing, 1) for thing in things]


def test_roi_09_regions_one_in_the_other_are_looked_at_once(eye):
    shapes = {"all": box(100, 100, 400, 300), "part": box(200, 150, 300, 250)}
    scene = eye(SIZE, [(230, 180, 260, 210, 0.8)])
    refined = Refiner(section(), NAMES, shapes).run(scene.image, found(), scene.look)
    assert refined.looked == ((100, 100, 400, 300),)
    assert rows_of(refined.detections) == [(230, 180, 260, 210, 0.8, 1)]
