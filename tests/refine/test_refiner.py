"""The second look as the pipeline calls it."""

import pytest

from app.config.sections import Refine
from app.errors import BadOutput, ConfigError
from app.refine import Refiner
from tests.refine.looks import NAMES, found, rows_of

SIZE = (960, 720)
FOUR = {"mode": "grid", "tile_width": 480, "tile_height": 360, "overlap": 0.0}
QUARTERS = ((0, 0, 480, 360), (480, 0, 960, 360), (0, 360, 480, 720), (480, 360, 960, 720))


def test_looks_get_views_of_the_picture_in_the_order_of_their_value(eye):
    scene = eye(SIZE, [(700, 500, 720, 520, 0.9)])
    refined = Refiner(Refine(**FOUR), NAMES).run(scene.image, found((600, 600, 640, 640, 0.3)), scene.look)
    assert refined.looked == (QUARTERS[3], *QUARTERS[:3])
    assert [tuple(view[0, 0, :2].tolist()) for view in scene.views] == [region[:2] for region in refined.looked]
    assert rows_of(refined.detections) == [(700, 500, 720, 520, 0.9, 1)]


@pytest.mark.parametrize(
    ("most", "allowed", "looks"),
    [
        (4, None, 4),  # the section's own number
        (2, None, 2),
        (4, 1, 1),  # the budget allows fewer
        (2, 4, 2),  # it can't allow more than the section
        (4, 0, 0),  # no time at all
    ],
)
def test_regions_beyond_what_is_allowed_are_named_as_skipped(eye, most, allowed, looks):
    scene = eye(SIZE, [])
    refined = Refiner(Refine(**FOUR, max_regions=most), NAMES).run(scene.image, found(), scene.look, allowed)
    assert len(scene.views) == looks
    assert (refined.looked, refined.skipped) == (QUARTERS[:looks], QUARTERS[looks:])
    # Those beyond the section's own number are no matter of time.
    assert refined.unlooked == QUARTERS[looks:most]


def test_nothing_is_replaced_where_there_was_no_time_to_look(eye):
    coarse = found((600, 600, 640, 640, 0.3))
    refined = Refiner(Refine(**FOUR, clear="all"), NAMES).run(eye(SIZE, []).image, coarse, pytest.fail, 0)
    assert rows_of(refined.detections) == rows_of(coarse)


def test_picture_without_a_doubt_is_not_looked_at_again(eye):
    coarse = found((600, 600, 640, 640, 0.9))
    refined = Refiner(Refine(), NAMES).run(eye(SIZE, []).image, coarse, pytest.fail)
    assert (refined.looked, refined.skipped) == ((), ())
    assert rows_of(refined.detections) == rows_of(coarse)


def test_second_models_classes_are_told_by_their_names(eye):
    scene = eye(SIZE, [(100, 100, 120, 120, 0.9, 0), (300, 100, 320, 120, 0.8, 1)])
    refiner = Refiner(Refine(**FOUR), NAMES, second_names=("crack", "screw"))
    refined = refiner.run(scene.image, found((100, 500, 120, 520, 0.3, 4)), scene.look)
    names = [refined.detections.name(row) for row in range(len(refined.detections))]
    # The second model knows no scratch, so the doubt about one stays.
    assert names == ["crack", "screw", "scratch"]
    assert refiner.names == (*NAMES, "crack")


def test_class_without_a_name_of_the_second_model_is_no_class_of_the_first(eye):
    scene = eye(SIZE, [(100, 100, 120, 120, 0.9, 7)])
    refined = Refiner(Refine(**FOUR), NAMES, second_names=("crack",)).run(scene.image, found(), scene.look)
    assert refined.detections.name(0) == "class_13"


def test_least_score_of_the_first_look_is_where_doubt_begins():
    assert Refiner(Refine(uncertain=[0.05, 0.4]), NAMES).min_score == 0.05


def test_class_for_the_tiles_that_the_model_has_not_is_refused():
    with pytest.raises(ConfigError, match=r"refine\.within: the model has no class 'lid'; it has cover, screw, hole"):
        Refiner(Refine(mode="grid", within="lid"), NAMES)


def test_output_that_can_not_be_ends_the_look(eye):
    def broken(view):
        raise BadOutput("a score of 7")

    with pytest.raises(BadOutput, match="a score of 7"):
        Refiner(Refine(**FOUR), NAMES).run(eye(SIZE, []).image, found(), broken)
