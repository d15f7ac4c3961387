"""Tail attribution: traces in which the culprit is known."""

import pytest

from app.errors import ConfigError
from app.traces.tail import slow_count, tail_of
from app.traces.timing import timings_of
from app.traces.words import headline, sample_note
from tests.traces.conftest import jitter, make_frame


def frames(count: int, slow: dict[int, dict[str, float]], camera: str = "front") -> list:
    return [make_frame(seq, camera=camera, **{**jitter(seq), **slow.get(seq, {})}) for seq in range(1, count + 1)]


@pytest.mark.parametrize(
    ("planted", "part", "step"),
    [
        ({"inference": 90.0}, "inference", "inference"),  # the engine
        ({"publish": 70.0}, "network", "publish"),  # the broker
        ({"slot": 60.0}, "wait", "slot"),  # too many frames before it
        ({"gate": 60.0}, "wait", "gate"),
        ({"capture": 55.0}, "capture", "capture"),  # a slow camera
        ({"judge": 40.0}, "postprocess", "judge"),  # rules, not decoding
        ({"decode": 40.0}, "postprocess", "decode"),
        ({"preprocess": 30.0}, "preprocess", "preprocess"),
        ({"gap_ms": 45.0}, "between", ""),  # no step ran: the thread had no processor
        ({"present": 900.0, "inference": 60.0}, "inference", "inference"),  # a slow screen is not in the total
    ],
)
def test_the_stage_that_was_made_slow_is_named(planted: dict[str, float], part: str, step: str) -> None:
    slow = {seq: planted for seq in (50, 120, 333, 400, 612, 800)}
    tail = tail_of(timings_of(frames(1000, slow)), [])
    assert tail.culprit is not None
    assert (tail.culprit.part, tail.culprit.step) == (part, step)
    assert tail.culprit.share > 0.9
    assert tail.is_clear
    assert tail.culprit.made >= 6
    assert {timing.trace_id for timing in tail.slow} >= {f"run-front-{seq:06d}" for seq in slow}
    assert f"the slowest 10 of 1000 frames took longer than usual (+{tail.culprit.excess_ms:.1f} ms" in headline(tail)


def test_a_tail_of_two_causes_is_not_blamed_on_one() -> None:
    slow = {seq: {"inference": 70.0} if seq % 2 else {"publish": 52.0} for seq in range(100, 110)}
    tail = tail_of(timings_of(frames(1000, slow)), [])
    shares = {excess.part: excess.share for excess in tail.excesses}
    assert shares["inference"] == pytest.approx(0.5, abs=0.05)
    assert shares["network"] == pytest.approx(0.5, abs=0.05)
    made = {excess.part: excess.made for excess in tail.excesses}
    assert (made["inference"], made["network"]) == (5, 5)


def test_a_cause_with_less_than_half_of_it_is_said_to_be_no_clear_one() -> None:
    slow = {seq: {"inference": 40.0, "publish": 21.0, "judge": 19.6} for seq in range(100, 110)}
    tail = tail_of(timings_of(frames(1000, slow)), [])
    assert tail.culprit is not None
    assert tail.culprit.part == "inference"
    assert not tail.is_clear
    assert "no stage alone makes the tail" in headline(tail)


def test_shares_add_up_to_all_of_it() -> None:
    tail = tail_of(timings_of(frames(500, {7: {"inference": 90.0}})), [])
    assert sum(excess.share for excess in tail.excesses) == pytest.approx(1)
    mean_ms = sum(timing.total_ms for timing in tail.slow) / len(tail.slow)
    assert sum(excess.excess_ms for excess in tail.excesses) == pytest.approx(mean_ms - tail.normal_ms, abs=1.0)


def test_a_camera_that_is_always_slower_is_not_the_tail() -> None:
    slow_camera = [make_frame(seq, camera="big", inference=80.0) for seq in range(1, 301)]
    planted = frames(300, {seq: {"publish": 50.0} for seq in (10, 20, 30, 40, 50, 60)})
    tail = tail_of(timings_of([*slow_camera, *planted]), [])
    assert {timing.camera for timing in tail.slow} == {"front"}
    assert tail.culprit is not None
    assert tail.culprit.part == "network"


def test_frames_that_are_all_alike_have_no_tail() -> None:
    tail = tail_of(timings_of([make_frame(seq) for seq in range(1, 101)]), [])
    assert tail.culprit is None
    assert headline(tail) == "No stage took longer than usual: there is no tail."


@pytest.mark.parametrize(
    ("count", "slow"),
    [(10, 5), (24, 5), (499, 5), (500, 5), (501, 6), (1000, 10), (100_000, 1000), (1, 1)],
)
def test_the_slow_ones_are_one_percent_and_five_at_least(count: int, slow: int) -> None:
    assert slow_count(count) == slow


def test_few_frames_are_said_to_be_few_and_many_are_not() -> None:
    assert "the slowest 5 are shown" in sample_note(tail_of(timings_of(frames(24, {})), []))
    assert sample_note(tail_of(timings_of(frames(600, {})), [])) == ""


def test_frames_without_inference_are_left_out_and_counted() -> None:
    late = [make_frame(seq, inference=None, decode=None) for seq in range(100, 130)]
    tail = tail_of(timings_of([*frames(50, {}), *late]), [])
    assert (tail.frames, tail.left_out) == (50, 30)
    assert "30 frames that the engine did not look at are left out" in sample_note(tail)


def test_too_few_frames_are_refused_with_the_number_needed() -> None:
    with pytest.raises(ConfigError, match=r"9 inspected frames are too few .* trace 10 or more"):
        tail_of(timings_of(frames(9, {})), [])
