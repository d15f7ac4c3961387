"""What is watched all the time."""

import pytest

from app.config.sections import Alerts
from app.latency.alarms import LEAST_RESULTS, Alarms
from app.latency.batches import Batches
from app.latency.gpu import GpuState
from app.latency.gpu_meter import IN_A_MINUTE, GpuMeter
from app.latency.recorder import Recorder


class Load:
    """A GPU's load as the test sets it."""

    def __init__(self):
        self.now = {"0": 50.0}
        self.is_open = False

    def __enter__(self):
        self.is_open = True
        return self

    def __exit__(self, *_):
        self.is_open = False

    def read(self):
        return {number: GpuState(percent) for number, percent in self.now.items()}


class Line:
    """The parts that are looked at, and one camera that is watched."""

    def __init__(self, clock):
        self.recorder = Recorder(clock)
        self.load = Load()
        self.gpu = GpuMeter(self.load)
        self.batches = Batches()
        self._told = []
        self._alarms = Alarms(
            Alerts(),
            {"left": 100.0},
            recorder=self.recorder,
            gpu=self.gpu,
            batches=self.batches,
            tell=lambda camera, text, data: self._told.append((camera, text, data)),
            clock=clock,
        )

    def look(self):
        """Look once, and return what was told."""
        self._alarms.look()
        told, self._told = self._told, []
        return told


@pytest.fixture
def line(clock):
    """A line with a camera that is watched, and what is told of it."""
    return Line(clock)


def minute(line, clock, total_ms, count=LEAST_RESULTS, camera="left"):
    """Let a minute of results pass."""
    clock.advance(61)
    for _ in range(count):
        line.recorder.add(camera, {}, total_ms, 100.0)
    clock.advance(1)


def test_a_p99_over_the_limit_is_told_and_so_is_its_return(line, clock):
    minute(line, clock, 99.0)
    assert line.look() == []
    minute(line, clock, 134.25)
    camera, text, data = line.look()[0]
    assert camera == "left"
    assert text == "p99 of the last minute's 20 results is 134.2 ms, at most 100 wanted"
    assert data == {"alert": "p99_ms", "state": "raised", "value": 134.25, "limit": 100.0}
    assert line.look() == []
    minute(line, clock, 50.0)
    assert line.look()[0][1:] == (
        "p99 of the last minute's 20 results is 50.0 ms again",
        {"alert": "p99_ms", "state": "cleared", "value": 50.0, "limit": 100.0},
    )


@pytest.mark.parametrize(
    ("count", "camera"),
    [
        (LEAST_RESULTS - 1, "left"),  # too few to speak of a p99
        (100, "right"),  # waits for nobody, so it is not watched
    ],
)
def test_what_says_nothing_raises_nothing(line, clock, count, camera):
    minute(line, clock, 500.0, count, camera)
    assert line.look() == []


def test_a_gpu_that_is_busy_for_a_minute_is_told(line, clock):
    for _ in range(IN_A_MINUTE - 1):
        line.load.now = {"0": 10.0, "1": 99.0}
        line.gpu.read()
    assert (line.look(), line.gpu.busiest()) == ([], None), "not a minute yet"
    line.gpu.read()
    camera, text, data = line.look()[0]
    assert (camera, data["alert"], data["state"], data["value"]) == ("", "gpu_percent", "raised", 99.0)
    assert text == "the GPU's load over the last minute is 99 %, at most 95 wanted"


def test_a_gpu_that_does_not_tell_its_load_raises_nothing(line):
    line.load.now = {"0": None}
    for _ in range(IN_A_MINUTE):
        line.gpu.read()
    assert line.look() == []


def test_batches_that_are_half_empty_are_told_with_their_model(line):
    line.batches.add("covers", 1, 4)
    line.batches.add("ocr", 1, 1)
    line.batches.turn()
    _, text, data = line.look()[0]
    assert text == ("25 % of the places in the batches of covers had a picture in the last minute, at least 50 wanted")
    assert (data["alert"], data["value"]) == ("batch_percent", 25.0)


def test_the_meter_opens_and_closes_the_driver_and_shows_nothing_without_one():
    load = Load()
    with GpuMeter(load) as meter:
        assert load.is_open
        meter.read()
        assert meter.states == {"0": GpuState(50.0)}
    assert not load.is_open
    with GpuMeter(None) as meter:
        meter.read()
        assert (meter.states, meter.busiest()) == ({}, None)
