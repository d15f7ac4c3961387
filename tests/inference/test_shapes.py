"""Open axes are filled in from what is known, or refused."""

from __future__ import annotations

import pytest

from app.errors import ModelError
from app.inference.shapes import resolve, resolve_inputs
from app.model import TensorSpec

RESOLVED = [
    ((1, 3, 640, 640), (1, 3, 640, 640)),  # nothing open
    (("batch", 3, "height", "width"), (1, 3, 480, 640)),  # names
    ((None, 3, None, None), (1, 3, 480, 640)),  # nothing
    ((-1, 3, -1, -1), (1, 3, 480, 640)),  # -1, as other engines write it
    ((None, None, None, None), (1, 3, 480, 640)),  # all open: channels first
    ((None, None, None, 3), (1, 480, 640, 3)),  # the 3 is last
    ((None, None, None, 1), (1, 480, 640, 1)),  # grey, last
    ((None, 1, None, None), (1, 1, 480, 640)),  # grey
    ((None, 3, None, 3), (1, 3, 480, 3)),  # a 3 on both: channels first
    ((4, 3, None, None), (4, 3, 480, 640)),  # a fixed batch stays
    (("n", 2), (1, 2)),  # not a picture
    (("n", "k"), (1, None)),  # not a picture, and nobody can tell
]


@pytest.mark.parametrize(("shape", "resolved"), RESOLVED)
def test_mdl_03_open_axes_are_resolved(shape: tuple[object, ...], resolved: tuple[object, ...]) -> None:
    assert resolve(shape, height=480, width=640) == resolved


def test_a_layout_that_is_told_wins_over_the_guess() -> None:
    assert resolve((None, None, None, None), height=480, width=640, nhwc=True) == (1, 480, 640, 3)


def resolved_input(shape: tuple[int | None, ...], input_wh: tuple[int, int] | None) -> TensorSpec:
    return resolve_inputs([TensorSpec("images", shape, "float32")], input_wh, channels=3, nhwc=None)[0]


def test_mdl_03_an_open_size_that_nobody_tells_is_refused_with_the_key_to_set() -> None:
    with pytest.raises(ModelError, match=r"'images' of shape \[\?, 3, \?, \?\] .* set input.width and height"):
        resolved_input((None, 3, None, None), None)


def test_a_size_that_the_file_fixes_otherwise_is_refused() -> None:
    with pytest.raises(ModelError, match="can't take pictures of 320 × 320 pixels"):
        resolved_input((1, 3, 640, 640), (320, 320))


def test_a_fixed_size_needs_no_telling() -> None:
    assert resolved_input((None, 3, 640, 640), None).shape == (1, 3, 640, 640)
