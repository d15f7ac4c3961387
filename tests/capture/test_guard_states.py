"""Each check of the guard: on and off, at its threshold and beside it, and what it makes of the camera's state."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event

import numpy as np
import pytest

from app.capture.feed import Feed
from app.capture.guard import Guard
from app.capture.scripted import Scripted
from app.config.sections import Guard as GuardSection
from app.config.sections import Reopen
from app.frame import Picture
from app.verdict import Code

MS = 1_000_000
ROWS, COLUMNS = 120, 160
PERIOD_MS = 33


def noise(number: int, low: int = 60, high: int = 180) -> np.ndarray:
    return np.random.default_rng(number).integers(low, high, (ROWS, COLUMNS, 3), np.uint8)


def lit(level: int, share: float = 1.0) -> Callable[[int], np.ndarray]:
    """Pictures of which a share is one level, and the rest noise."""

    def make(number: int) -> np.ndarray:
        image = noise(number)
        image[: round(ROWS * share)] = level
        return image

    return make


def spread(by: int) -> Callable[[int], np.ndarray]:
    """Pictures of one tone that moves a little, with one pixel that much brighter."""

    def make(number: int) -> np.ndarray:
        image = np.full((ROWS, COLUMNS, 3), 100 + number % 3, np.uint8)
        image[7, 9] += by
        return image

    return make


def flat_below(rows: int) -> Callable[[int], np.ndarray]:
    def make(number: int) -> np.ndarray:
        image = noise(number)
        image[ROWS - rows :] = 128
        return image

    return make


def soft(number: int) -> np.ndarray:
    """A slope that moves: nothing in it is sharp."""
    return np.tile(np.linspace(60, 180 + number % 5, COLUMNS).astype(np.uint8)[None, :, None], (ROWS, 1, 3))


def same(_: int) -> np.ndarray:
    return noise(0)


@dataclass(frozen=True)
class Row:
    """A kind of picture, how the guard is set, and what it makes of the fourth such picture."""

    code: Code | None
    make: Callable[[int], np.ndarray]
    keys: dict = field(default_factory=dict)
    age_ms: float = 1.0

    def pictures(self, count: int) -> list[Picture]:
        times = [number * PERIOD_MS * MS for number in range(count)]
        return [Picture(self.make(number), at_ns, at_ns + int(self.age_ms * MS)) for number, at_ns in enumerate(times)]


TABLE = [
    Row(None, noise),  # a good camera
    Row(Code.BLACK, lit(12)),
    Row(None, lit(12), {"black": False, "blank": False, "frozen": False}),
    Row(None, lit(13), {"blank": False, "frozen": False}),  # a grey value above the level
    Row(Code.BLACK, lit(40), {"black_level": 40}),
    Row(Code.OVEREXPOSED, lit(250)),
    Row(None, lit(250), {"overexposed": False, "blank": False, "frozen": False}),
    Row(None, lit(249), {"blank": False, "frozen": False}),
    Row(Code.OVEREXPOSED, lit(230), {"overexposed_level": 230}),
    Row(None, lit(250, 0.9)),  # a tenth of it shows something
    Row(Code.OVEREXPOSED, lit(250, 0.9), {"overexposed_share": 0.9}),
    Row(Code.BLANK, spread(3)),
    Row(None, spread(3), {"blank": False}),
    Row(None, spread(4)),
    Row(Code.BLANK, spread(20), {"blank_spread": 20}),
    Row(Code.TORN, flat_below(16), {"torn": True}),
    Row(None, flat_below(16)),  # off as it comes: a belt may be as even
    Row(None, flat_below(15), {"torn": True}),
    Row(Code.TORN, flat_below(8), {"torn": True, "torn_rows": 8}),
    Row(Code.BLURRED, soft, {"sharpness": 5.0}),
    Row(None, soft),  # off as it comes: what is sharp is the line's to say
    Row(None, noise, {"sharpness": 5.0}),
    Row(Code.FROZEN, same, {"frozen_after": 4}),
    Row(None, same, {"frozen_after": 5}),  # one more is needed
    Row(None, same, {"frozen_after": 4, "frozen": False}),
    Row(Code.WRONG_SIZE, noise, {"width": COLUMNS + 1}),
    Row(Code.WRONG_SIZE, noise, {"height": ROWS + 1}),
    Row(None, noise, {"width": COLUMNS, "height": ROWS}),
    Row(Code.STALE, noise, age_ms=2001),
    Row(None, noise, {"stamps": False}, age_ms=2001),
    Row(None, noise, age_ms=2000),
    Row(Code.STALE, noise, {"max_age_s": 0.5}, age_ms=501),
    Row(Code.STARTING, noise, {"warm_up": 4}),
    Row(None, noise, {"warm_up": 3}),
]


@pytest.mark.parametrize("row", TABLE)
def test_each_check_is_on_or_off_and_has_its_threshold(row):
    guard = Guard(GuardSection(**row.keys), live=True)
    found = [guard.check(picture) for picture in row.pictures(4)]
    assert (found[-1] and found[-1].code) is row.code
    if row.code is not None:
        assert found[-1].text, "one line for a person"


FAULTS = [row for row in TABLE if row.code not in (None, Code.STARTING)]


@pytest.mark.parametrize("row", FAULTS)
def test_each_fault_is_in_the_frame_and_becomes_the_camera_s_state_once_and_ends_with_good_pictures(row):
    good = [Picture(noise(100 + number), at_ns := (50 + number) * PERIOD_MS * MS, at_ns + MS) for number in range(3)]
    if row.code is Code.WRONG_SIZE:
        size = (row.keys.get("height", ROWS), row.keys.get("width", COLUMNS), 3)
        good = [Picture(np.resize(one.data, size), one.exposed_ns, one.arrived_ns) for one in good]
    frames, states = [], []
    Feed(
        "front",
        lambda: Scripted([*row.pictures(8), *good]),
        guard=Guard(GuardSection(**row.keys, alarm_after=2, clear_after=2), live=True),
        reopen=Reopen(first_s=0.001, max_s=0.002, jitter=0.0),
        put=frames.append,
        on_state=lambda state, text: states.append((state.value, bool(text))),
    ).run(Event())
    faults = [frame.picture.fault for frame in frames]
    assert [fault and fault.code for fault in faults[4:8]] == [row.code] * 4, "each is a frame, with its reason"
    assert faults[-1] is None
    named = [state for state, _ in states if state not in ("connecting", "online", "ended")]
    assert named == [row.code.value]
    assert states[-2][0] == "online"
    assert all(text for _, text in states)
