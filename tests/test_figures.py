"""What was measured, as messages."""

import pytest

from app.figures import SLOWEST, Figures
from app.latency.gpu import GpuState
from app.latency.presentation import Presentation
from app.latency.recorder import Recorder
from app.publish.clock import UtcClock
from app.publish.message import decode, encode
from app.publish.spread import Gpu


class Clock:
    """A monotonic clock that stands still until it is told."""

    now_ns = 10**12

    def __call__(self):
        return self.now_ns

    def advance(self, seconds):
        self.now_ns += round(seconds * 1e9)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def recorder(clock):
    return Recorder(clock)


@pytest.fixture
def presentation(clock):
    return Presentation(clock)


@pytest.fixture
def figures(recorder, presentation, clock):
    return Figures("Linie 1", {"left": 100.0, "right": 500.0}, recorder, presentation, UtcClock(clock, lambda: 0))


def test_a_message_has_three_windows_of_the_cameras_own_times(figures, recorder, clock):
    for second in range(70):
        recorder.add("left", {"inference": float(second), "network": None}, second + 40.0, 100.0)
        recorder.add("right", {}, 1.0, 500.0)
        clock.advance(1)
    left, right = figures.messages()
    assert [(window.seconds, window.stages["inference"].count) for window in left.windows] == [
        (10, 10), (60, 60), (None, 70)
    ]  # fmt: skip
    last_ten = left.windows[0].stages["total"]
    assert (last_ten.p50, last_ten.p99, last_ten.max, last_ten.exact) == (104.0, 109.0, 109.0, True)
    assert list(left.windows[0].stages) == ["inference", "total"]
    assert (left.camera, left.budget_ms, left.frames, left.misses) == ("left", 100.0, 70, 9)
    assert (right.camera, right.budget_ms, right.frames, right.windows[2].stages["total"].max) == (
        "right",
        500.0,
        70,
        1,
    )
    assert decode(encode(left)) == left
    assert left.id != right.id


def test_a_camera_without_results_has_a_message_with_empty_windows(figures):
    message = figures.messages()[0]
    assert (message.frames, message.level, message.breaches, message.subscribers) == (0, "", {}, [])
    assert [window.stages for window in message.windows] == [{}, {}, {}]


def test_a_message_says_what_the_budget_did(figures, recorder):
    recorder.set_level("left", "no_refine")
    recorder.count_breach("left", "inference")
    recorder.count_breach("right", "network")
    left, right = figures.messages()
    assert (left.level, left.breaches) == ("no_refine", {"inference": 1})
    assert (right.level, right.breaches) == ("", {"network": 1})


def test_times_over_the_limit_of_the_buckets_are_null_and_the_maximum_stays(figures, recorder, monkeypatch):
    monkeypatch.setattr("app.latency.column.EXACT_SAMPLES", 1)
    for _ in range(3):
        recorder.add("left", {}, 30_000.0, 100.0)
    total = figures.messages()[0].windows[2].stages["total"]
    assert (total.p50, total.p999, total.max, total.exact) == (None, None, 30_000.0, False)


def test_the_slowest_subscribers_are_named_and_the_others_counted(figures, presentation, clock):
    for number in range(SLOWEST + 3):
        presentation.add("left", f"panel {number}", 100.0 + number, 5.0)
    clock.advance(1)
    left, right = figures.messages()
    assert [subscriber.client for subscriber in left.subscribers] == [f"panel {n}" for n in (7, 6, 5, 4, 3)]
    assert (left.others, left.subscribers[0].mostly, left.subscribers[0].network.p90) == (3, "network", 102.0)
    assert (right.subscribers, right.others) == ([], 0)


def test_a_message_says_how_the_gpus_are_and_what_holds_the_machine_back(recorder, presentation, clock):
    state = GpuState(percent=97.04, used_mb=1500.123, mhz=1300, celsius=96.0, throttle=("thermal", "power_cap"))
    figures = Figures(
        "l",
        {"left": 100.0},
        recorder,
        presentation,
        UtcClock(clock, lambda: 0),
        gpus=lambda: {"0": state, "1": GpuState()},
        throttled=lambda: ("gpu 0: thermal, power_cap",),
    )
    (message,) = figures.messages()
    assert message.gpus["0"] == Gpu(
        percent=97.0, used_mb=1500.1, mhz=1300, celsius=96.0, throttle=["thermal", "power_cap"]
    )
    assert message.gpus["1"] == Gpu()
    assert message.throttle == ["gpu 0: thermal, power_cap"]
    assert decode(encode(message)) == message


def test_a_machine_without_a_gpu_says_nothing_of_one(figures):
    assert (figures.messages()[0].gpus, figures.messages()[0].throttle) == ({}, [])
