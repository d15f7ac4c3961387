"""A source in a process of its own."""

import logging
import os
import signal
import threading
from pathlib import Path
from time import monotonic, monotonic_ns

import numpy as np
import pytest

from app.capture.feed import Feed
from app.capture.guard import Guard
from app.capture.isolated import Isolated, python_module
from app.capture.state import CameraState
from app.config.sections import Guard as GuardSection
from app.config.sections import ImagesSource, Reopen, SyntheticSource
from app.errors import EndOfStream, SourceError, SourceLost
from app.frame import PixelFormat
from app.verdict import Code

COMMAND = python_module("tests.capture.crashing")


def source(what: str, limit_s: float = 10.0) -> Isolated:
    return Isolated(ImagesSource(kind="images", path=what), COMMAND, limit_s)


def read(one: Isolated, count: int = 1) -> list:
    pictures, until = [], monotonic() + 30
    while len(pictures) < count:
        assert monotonic() < until
        picture = one.read(0.2)
        pictures += [picture] if picture else []
    return pictures


def test_pictures_come_as_they_are_with_the_times_of_the_one_monotonic_clock(caplog):
    before_ns = monotonic_ns()
    with source("torn") as one:
        pictures = read(one, 4)
    for number, picture in enumerate(pictures[:3], start=1):
        shape = PixelFormat.NV12.shape((32 * number, 24 * number))
        np.testing.assert_array_equal(picture.data, np.random.default_rng(number).integers(60, 180, shape, np.uint8))
        assert (picture.label, picture.format) == (f"picture {number}", PixelFormat.NV12)
        assert before_ns < picture.exposed_ns < picture.arrived_ns < monotonic_ns()
    last = pictures[3]
    assert (last.fault.code, last.fault.text, last.label, last.loop) == (Code.TORN, "cut off", "label", 2)
    assert ("app.capture.isolated", logging.WARNING, "the driver says torn") in caplog.record_tuples


@pytest.mark.parametrize(
    ("what", "limit_s", "kind", "text"),
    [
        ("crash", 20.0, SourceLost, r"its process has ended: SIGSEGV in crashing\.py line \d+ \(crash\)"),
        ("hang", 0.4, SourceLost, r"its process has hung for \d+ s and was ended"),
        ("end", 20.0, EndOfStream, "that was all"),
        ("never", 20.0, SourceError, "a format that nobody knows"),
        ("bug", 20.0, SourceLost, "nobody foresaw: ZeroDivisionError: bug"),
    ],
)
def test_cam_20_what_ends_it_is_told_by_its_kind_and_with_its_reason(what, limit_s, kind, text):
    with source(what, limit_s=limit_s) as one, pytest.raises(kind, match=text) as caught:
        read(one, 10)
    assert type(caught.value) is kind


def test_a_source_that_can_not_be_opened_is_told_on_entering():
    with pytest.raises(SourceLost, match="no such camera"), source("absent"):
        pass


def test_cam_02_an_opening_that_hangs_is_ended_with_its_process(monkeypatch):
    monkeypatch.setattr("app.capture.isolated.START_S", 0.0)
    with pytest.raises(SourceLost, match="has hung"), source("hang_open", limit_s=1.0):
        pass


def test_a_read_keeps_its_time_out_and_the_late_answer_is_not_lost():
    with source("slow") as one:
        read(one, 3)
        assert one.read(0.05) is None, "the source itself waits for ever"
        picture, until = None, monotonic() + 30
        while picture is None:
            assert monotonic() < until
            os.kill(one._process.pid, signal.SIGCONT)  # again, where it had not stopped yet
            picture = one.read(0.2)
        assert picture.label == "picture 4"


def test_cam_21_nothing_is_left_behind():
    def held() -> tuple[int, int]:
        children = Path(f"/proc/self/task/{os.getpid()}/children")
        return len(list(Path("/proc/self/fd").iterdir())), len(children.read_text().split()) if children.exists() else 0

    before = held()
    for what in ("torn", "crash", "absent"):
        try:
            with source(what) as one:
                read(one, 5)
        except (SourceLost, AssertionError):
            pass
    assert held() == before


def test_cam_20_a_crash_of_the_driver_is_a_loss_of_the_camera_with_its_reason_and_it_is_opened_again():
    states, frames, stop = [], [], threading.Event()

    def put(frame):
        frames.append(frame)
        if len(frames) == 6:
            stop.set()

    feed = Feed(
        "front",
        lambda: source("crash"),
        guard=Guard(GuardSection(), live=True),
        reopen=Reopen(first_s=0.01, max_s=0.02),
        put=put,
        on_state=lambda state, text: states.append((state, text)),
    )
    feed.run(stop)
    assert [state for state, _ in states] == [
        CameraState.CONNECTING,
        CameraState.ONLINE,
        CameraState.LOST,
        CameraState.ONLINE,
    ]
    assert "SIGSEGV in crashing.py" in states[2][1]
    assert [frame.seq for frame in frames] == [1, 2, 3, 4, 5, 6]


def test_the_product_s_own_process_reads_a_source():
    section = SyntheticSource(kind="synthetic", width=64, height=48, fps=100.0)
    with Isolated(section, python_module("app.wiring.isolate"), 20.0) as one:
        (picture,) = read(one)
    assert picture.size_wh == (64, 48)
