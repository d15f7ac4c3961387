"""ROI-02: regions that are off the picture after a change of its size give no look outside it, and no crash."""

import pytest

from app.config.sections import Refine
from app.config.sections import Region as Shape
from app.refine import Refiner
from tests.refine.looks import NAMES, found

WAS, IS = (1920, 1280), (1920, 1080)
SECTION = Refine(mode="regions", tile_width=640, tile_height=320, margin_px=0.0)


def pixels(left, top, right, bottom):
    return Shape(unit="pixels", polygon=[(left, top), (right, top), (right, bottom), (left, bottom)])


@pytest.mark.parametrize(
    ("size", "corners", "looked"),
    [
        (WAS, (600, 1000, 1200, 1280), ((580, 960, 1220, 1280),)),  # as it was meant
        (IS, (600, 1000, 1200, 1280), ((580, 760, 1220, 1080),)),  # partly off: the tile is shifted in
        (IS, (600, 1100, 1200, 1280), ()),  # wholly off: nothing of it can be seen
        (IS, (600, 1080, 1200, 1280), ()),  # it begins where the picture ends
    ],
)
def test_roi_02_a_fixed_region_off_the_picture_is_looked_at_as_far_as_it_is_there(eye, size, corners, looked):
    scene = eye(size, [])
    refined = Refiner(SECTION, NAMES, {"bottom": pixels(*corners)}).run(scene.image, found(), scene.look)
    assert (refined.looked, refined.skipped, refined.unlooked) == (looked, (), ())
    assert [view.shape[:2] for view in scene.views] == [(320, 640)] * len(looked)


def test_roi_02_a_region_in_fractions_goes_with_the_picture(eye):
    shape = Shape(unit="fraction", polygon=[(0.5, 0.75), (0.75, 0.75), (0.75, 1), (0.5, 1)])
    refiner = Refiner(SECTION, NAMES, {"corner": shape})
    for size in (WAS, IS):
        scene = eye(size, [])
        (only,) = refiner.run(scene.image, found(), scene.look).looked
        assert only[3] == size[1]


@pytest.mark.parametrize("size", [(200, 1080), (1920, 100), (40, 30)])
def test_roi_02_a_picture_smaller_than_a_tile_is_one_look_that_lies_in_it(eye, size):
    width, height = size
    for mode in ("uncertain", "regions", "grid"):
        scene = eye(size, [])
        section = SECTION.model_copy(update={"mode": mode, "max_regions": 99})
        shapes = {"all": Shape(unit="fraction", polygon=[(0, 0), (1, 0), (1, 1), (0, 1)])}
        refined = Refiner(section, NAMES, shapes).run(scene.image, found((5, 5, 20, 20, 0.3)), scene.look)
        assert refined.looked
        for left, top, right, bottom in refined.looked:
            assert 0 <= left < right <= width
            assert 0 <= top < bottom <= height
