"""What happened while frames were slow, told from what happens anyway."""

import pytest

from app.traces.coincidence import Stretches, coincidences, slow_clocks
from app.traces.tail import tail_of
from app.traces.timing import timings_of
from app.traces.words import coincidence_line
from tests.traces.conftest import MS, PERIOD_MS, event, jitter, make_frame

SLOW = (50, 120, 333, 400, 612, 800, 801, 950, 960, 970)


def timings(**planted: float) -> list:
    frames = [make_frame(seq, **{**jitter(seq), **(planted if seq in SLOW else {})}) for seq in range(1, 1001)]
    return timings_of(frames)


def found(events: list, **planted: float) -> dict:
    tail = tail_of(timings(**(planted or {"inference": 45.0})), events)
    return {one.kind: one for one in tail.found}


def in_frame(seq: int, after_ms: float = 8.0) -> int:
    return (seq * PERIOD_MS) * MS + int(after_ms * MS)


def test_pauses_in_the_slow_frames_go_with_the_tail() -> None:
    pauses = [event("gc", in_frame(seq), in_frame(seq, 33)) for seq in SLOW]
    one = found(pauses)["gc"]
    assert (one.slow, one.normal, one.slow_hits, one.events) == (1.0, 0.0, 10, 10)
    assert one.is_telling
    assert coincidence_line(one, 10).startswith("garbage collection goes with the tail: in 10 of 10 slow frames")


def test_pauses_that_are_everywhere_do_not() -> None:
    pauses = [event("gc", in_frame(seq), in_frame(seq, 9)) for seq in range(1, 1001)]
    one = found(pauses)["gc"]
    assert one.slow == one.normal == 1.0
    assert not one.is_telling
    assert "chance alone may give" in coincidence_line(one, 10)


def test_a_long_frame_meets_more_of_everything_and_that_is_allowed_for() -> None:
    # One event every 400 ms: a frame of 330 ms meets most of them for no other reason than its length.
    steady = [event("gc", at * 400 * MS, at * 400 * MS) for at in range(125)]
    one = found(steady, inference=320.0)["gc"]
    assert one.slow > 3 * one.normal
    assert one.chance == pytest.approx(one.slow, abs=0.2)
    assert not one.is_telling


def test_pauses_in_none_of_them_are_said_to_be_in_none() -> None:
    one = found([event("gc", in_frame(7), in_frame(7, 9))])["gc"]
    assert one.slow_hits == 0
    assert coincidence_line(one, 10) == "garbage collection: in no slow frame."


def test_one_pause_in_one_of_them_says_nothing() -> None:
    one = found([event("gc", in_frame(50), in_frame(50, 20))])["gc"]
    assert not one.is_telling
    assert coincidence_line(one, 10) == "garbage collection: in 1 of 10 slow frames; one alone says nothing."


@pytest.mark.parametrize("kind", ["throttle", "level", "camera"])
def test_every_kind_of_event_is_looked_at(kind: str) -> None:
    events = [event(kind, in_frame(seq), in_frame(seq, 20)) for seq in (50, 120, 333, 400)]
    assert found(events)[kind].is_telling


def test_a_reconnect_is_felt_by_the_frames_after_it() -> None:
    lost = [event("camera", in_frame(seq) - 500 * MS, camera="front") for seq in SLOW]
    assert found(lost)["camera"].slow == 1.0


def test_what_befell_another_camera_does_not_count() -> None:
    lost = [event("camera", in_frame(seq), camera="back") for seq in SLOW]
    assert found(lost)["camera"].slow_hits == 0


def test_a_slow_clock_is_one_below_what_is_usual() -> None:
    clocks = [
        event("clock", s * 1000 * MS, (s + 1) * 1000 * MS, data={"mhz": 1000 if s == 40 else 2000}) for s in range(50)
    ]
    (slow,) = slow_clocks(clocks)
    assert (slow.began_ns, slow.kind) == (40_000 * MS, "slow clock")
    one = found(clocks)["slow clock"]
    assert one.slow_hits == 2, "frames 800 and 801 lie in that second"
    assert "clock" not in found(clocks), "a reading of the clock is no event"


def test_a_reading_of_the_gpu_is_no_event_and_what_holds_it_back_is_one() -> None:
    readings = [event("gpu", s * 1000 * MS, (s + 1) * 1000 * MS, data={"percent": 99.0}) for s in range(50)]
    held = [event("throttle", in_frame(seq), in_frame(seq, 20), data={"gpu": "0"}) for seq in SLOW]
    assert list(found([*readings, *held])) == ["throttle"]


def test_what_only_says_that_a_frame_was_slow_is_no_cause() -> None:
    events = [event(kind, in_frame(seq)) for kind in ("breach", "dropped", "verdict") for seq in SLOW]
    assert found(events) == {}


def test_the_most_telling_stands_first() -> None:
    events = [event("throttle", in_frame(7))] + [event("gc", in_frame(seq), in_frame(seq, 20)) for seq in SLOW]
    assert [one.kind for one in coincidences(timings()[:10], timings()[10:], events)] != []
    assert next(iter(found(events))) == "gc"


@pytest.mark.parametrize(
    ("window", "meets"),
    [
        ((0, 9), False),  # before all
        ((0, 10), True),  # touches the first
        ((12, 13), True),  # inside one
        ((21, 29), False),  # between two
        ((25, 500), True),  # over one
        ((150, 160), True),  # inside a long one that began before a short one
        ((201, 300), False),  # after all
    ],
)
def test_stretches_meet_what_shares_a_moment_with_one_of_them(window: tuple[int, int], meets: bool) -> None:
    assert Stretches([(30, 40), (10, 20), (100, 200), (110, 120)]).meets(*window) is meets


def test_no_stretch_meets_nothing() -> None:
    assert not Stretches([]).meets(0, 1)


def test_many_slow_frames_are_no_trouble_to_reckon_with() -> None:
    many = [make_frame(seq, **jitter(seq)) for seq in range(1, 3001)]
    some = timings_of(many)
    events = [event("gc", in_frame(seq)) for seq in range(1, 3001, 2)]
    (one,) = coincidences(some[:2000], some[2000:], events)
    assert one.chance == pytest.approx(0.5, abs=0.05)
    assert not one.is_telling
