"""A buffer is halved until pictures suffer, and the size before that is what is printed."""

import io
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from app.capture.stream import Stream
from app.config import load, sections
from app.errors import ConfigError, SourceLost
from app.frame import Picture
from app.latency.percentiles import percentiles
from app.tune.camera import Pace, chosen, tune_camera
from app.tune.reading import Reading, is_worse, knee
from tests.capture.servers import counting_server

CONFIGS = Path(__file__).parents[2] / "configs"


def reading(
    size: int, *, fps: float = 30.0, age_ms: float = 5.0, gap_ms: float = 40.0, faults: int = 0, lost: str = ""
):
    return Reading(size, fps, faults, percentiles([age_ms]), percentiles([gap_ms]), 0.1, lost)


@pytest.mark.parametrize(
    ("readings", "size"),
    [
        ([reading(4), reading(2), reading(1)], 4),  # no difference: nothing is gained by less
        ([reading(4, age_ms=30), reading(2), reading(1, fps=20)], 2),  # one buffer loses pictures
        ([reading(4, age_ms=30), reading(2), reading(1, faults=3)], 2),  # or damages them
        ([reading(4, age_ms=30), reading(2), reading(1, gap_ms=90)], 2),  # or holds them up
        ([reading(4, age_ms=120), reading(2, age_ms=60), reading(1, age_ms=30)], 1),  # each buffer is a picture's age
        ([reading(4, age_ms=5), reading(2, age_ms=4.6), reading(1, age_ms=4.4)], 4),  # not worth it
        ([reading(4), reading(2, fps=0, lost="gone")], 4),
        ([reading(4, fps=29.9, age_ms=40), reading(2, fps=30.1, age_ms=20), reading(1, fps=29.8)], 1),  # noise
    ],
)
def test_the_knee_is_the_largest_buffer_that_loses_nothing_and_is_not_older(readings, size) -> None:
    assert knee(readings).size == size


def test_without_any_picture_there_is_no_knee() -> None:
    assert knee([reading(4, fps=0), reading(2, fps=0)]) is None


def test_a_lost_source_is_worse_than_any() -> None:
    assert is_worse(reading(1, lost="gone"), reading(2))
    assert not is_worse(reading(1), reading(2))


class Clock:
    """Time that passes only while a camera is read."""

    now_ns = 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("app.tune.reading.monotonic_ns", lambda: clock.now_ns)
    return clock


class Camera:
    """Gives pictures as old as its buffers make them, and fewer where it has too few of them."""

    def __init__(self, section: sections.V4l2Source, clock: Clock, *, ageing: bool = True) -> None:
        self._clock = clock
        self._pause_ns = 10_000_000 if section.buffers >= 2 else 30_000_000
        self._waited_ns = section.buffers * 10_000_000 if ageing else 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def read(self, timeout_s: float) -> Picture:
        self._clock.now_ns += self._pause_ns
        return Picture(np.zeros((2, 2, 3), np.uint8), self._clock.now_ns - self._waited_ns, self._clock.now_ns)


def loaded_with(source: sections.Source):
    loaded = load(CONFIGS / "demo.yaml")
    camera = loaded.config.cameras["covers"].model_copy(update={"source": source})
    return replace(loaded, config=loaded.config.model_copy(update={"cameras": {"covers": camera}}))


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=160)


def test_a_v4l2_camera_s_table_marks_the_knee_and_the_setting_can_be_pasted(console: Console, clock: Clock) -> None:
    loaded = loaded_with(sections.V4l2Source(kind="v4l2", device=0))
    assert tune_camera(loaded, None, Pace(5.0), console, lambda section: Camera(section, clock)) == 2
    said = console.file.getvalue()
    assert said.count("◄ knee") == 1
    assert "100.0" in said, "pictures a second"
    assert "1 pictures are too few" in said
    assert "      buffers: 2" in said


def test_a_stream_is_read_with_each_size_and_the_last_good_one_is_said(console: Console) -> None:
    with counting_server([number / 50 for number in range(1000)]) as (url, _):
        source = sections.StreamSource(kind="stream", url=url, buffer_bytes=16384)
        asked = []

        def build(section: sections.StreamSource) -> Stream:
            asked.append(section.buffer_bytes)
            return Stream(section)

        size = tune_camera(loaded_with(source), "covers", Pace(0.4, 0.1), console, build)
    assert size in asked
    assert len(asked) > 1, "the second connection gives pictures as well"
    assert all(later == earlier // 2 for earlier, later in itertools.pairwise(asked))
    assert f"      buffer_bytes: {size}" in console.file.getvalue()


def test_where_a_smaller_buffer_gains_nothing_the_default_stays(console: Console, clock: Clock) -> None:
    loaded = loaded_with(sections.V4l2Source(kind="v4l2", device=0))
    assert tune_camera(loaded, None, Pace(5.0), console, lambda section: Camera(section, clock, ageing=False)) == 4
    assert "no smaller buffer makes the pictures younger" in console.file.getvalue()


class Away(Camera):
    """Can't be had."""

    def __enter__(self):
        raise SourceLost("/dev/video0: not there; is it plugged in?")


def test_a_camera_that_is_not_there_is_told(console: Console, clock: Clock) -> None:
    loaded = loaded_with(sections.V4l2Source(kind="v4l2", device=0))
    with pytest.raises(SourceLost, match="is it plugged in"):
        tune_camera(loaded, None, Pace(5.0), console, lambda section: Away(section, clock))


@pytest.mark.parametrize(
    ("camera", "words"),
    [("front", "there is no camera front; there are covers"), (None, "none of kind v4l2 or stream")],
)
def test_a_camera_that_can_t_be_meant_is_told(camera, words) -> None:
    with pytest.raises(ConfigError, match=words):
        chosen(load(CONFIGS / "demo.yaml").config, camera)
