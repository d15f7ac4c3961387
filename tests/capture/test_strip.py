"""The geometry of the moving belt."""

import pytest

from app.capture.strip import Belt


def test_picture_0_has_the_first_tile_s_beginning_on_the_centre_line():
    belt = Belt(tile_px=960, px_s=1920.0, fps=30.0)
    assert belt.window_px(0) == -480
    assert belt.in_view(0) == [(-1, -480), (0, 480)]


def test_parts_move_from_right_to_left_with_the_belt_s_speed():
    belt = Belt(tile_px=960, px_s=1920.0, fps=30.0)
    assert [belt.in_view(index) for index in (7, 8, 15)] == [
        [(-1, -928), (0, 32)],
        [(0, -32), (1, 928)],
        [(0, -480), (1, 480)],
    ]


def test_a_tile_that_fills_the_window_is_the_only_one_in_view():
    assert Belt(tile_px=100, px_s=100.0, fps=2.0).in_view(1) == [(0, 0)]


@pytest.mark.parametrize("fps", [10.0, 15.0, 30.0, 29.97])
def test_exactly_the_asked_parts_pass_the_centre_line(fps):
    belt = Belt(tile_px=960, px_s=1920.0, fps=fps, parts=48)
    indices = [index for index in range(2000) if not belt.is_past_end(index)]
    under_the_line = {belt.centre_px(index) // 960 for index in indices if belt.centre_px(index) < 48 * 960}
    assert under_the_line == set(range(48))
    assert belt.centre_px(indices[-1] + 1) > 48 * 960, "and not one picture more"


def test_without_a_number_of_parts_there_is_no_end():
    assert not Belt(tile_px=960, px_s=1920.0, fps=30.0).is_past_end(10**9)


def test_positions_do_not_drift_over_a_day():
    belt = Belt(tile_px=960, px_s=1000.0, fps=29.97)
    index = round(29.97 * 86400)
    assert belt.centre_px(index) == pytest.approx(86_400_000, abs=40)
