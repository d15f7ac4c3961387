"""Where a camera stands by its pictures, without flapping."""

import pytest

from app.capture.standing import STATES, Standing
from app.capture.state import CameraState
from app.verdict import Code, Reason

G, B, F, W = None, Code.BLACK, Code.FROZEN, Code.STARTING


def run(codes: list, now: CameraState = CameraState.ONLINE) -> list[str]:
    """Return the changes of a camera of three and two."""
    standing, told = Standing(3, 2), []
    for code in codes:
        state = standing.see(now, code and Reason(code, "why"))
        told += [state.value] if state is not now else []
        now = state
    return told


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        ([G, B, B, G, B, B, G], []),  # never three in a row
        ([B, B, B, B, B, G, B, G, B], ["black"]),  # told once, and one good picture does not end it
        ([B, B, B, G, G], ["black", "online"]),
        ([B, F, B], ["black"]),  # three bad ones, whatever ails them
        ([B, B, B, F, F, B, F, F, F], ["black", "frozen"]),  # as slow from fault to fault
        ([W, W, W, W, W], []),  # no fault of the camera
    ],
)
def test_a_state_is_told_once_on_entering_and_once_on_leaving(codes, told):
    assert run(codes) == told


@pytest.mark.parametrize("before", [CameraState.CONNECTING, CameraState.LOST])
def test_cam_24_a_camera_that_was_away_is_back_with_its_first_good_picture(before):
    assert run([B, G], before) == ["online"]


def test_every_fault_has_a_state_of_the_same_name_that_counts_as_a_stall():
    assert all(code.value == state.value and state.is_stall for code, state in STATES.items())
    assert {state for state in CameraState if state.is_stall} == set(STATES.values())
