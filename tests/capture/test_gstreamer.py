"""Real pipelines, with the plugins that Debian has: pictures, times, ends and troubles."""

import logging
import os
import statistics
import threading
from itertools import pairwise
from pathlib import Path
from time import monotonic_ns
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from app.bgr import to_bgr
from app.capture import gstreamer
from app.capture.gst import load
from app.capture.gst_packages import JETPACK
from app.capture.gst_sample import Layout, pixels_of
from app.capture.gst_text import CAMERA, NEWEST, Wanted
from app.capture.gstreamer import Gstreamer
from app.capture.rows import Plane
from app.config.sections import GstreamerSource
from app.errors import EndOfStream, SourceError, SourceLost
from app.frame import PixelFormat
from app.picture_memory import PictureMemory
from app.verdict import Code
from tests.capture.reading import read_all

SIZE = "width=64,height=48"
EVERY = "appsink max-buffers=20 sync=false"


def camera(**keys) -> Gstreamer:
    return Gstreamer(GstreamerSource(kind="gstreamer", **{"open_timeout_s": 20.0, "read_timeout_s": 20.0, **keys}))


def own(pipeline: str, **keys) -> Gstreamer:
    return camera(preset="own", pipeline=pipeline, **keys)


def wait(source: Gstreamer, count: int) -> list:
    """Read so many pictures with patience; the source itself gives up where none comes."""
    pictures = []
    while len(pictures) < count:
        picture = source.read(1.0)
        pictures += [picture] if picture is not None else []
    return pictures


@pytest.mark.parametrize("name", ["nv12", "bgr8", "gray8"])
def test_pictures_come_in_the_pixel_format_that_is_asked_for(name):
    with camera(preset="test", width=640, height=480, pixel_format=name) as source:
        (picture,) = wait(source, 1)
    assert (picture.format, picture.size_wh, picture.fault) == (PixelFormat(name), (640, 480), None)
    assert picture.data.flags.c_contiguous


@pytest.mark.parametrize(
    ("caps", "pixels"),
    [
        ("video/x-raw,format=BGR", PixelFormat.BGR8),
        ("video/x-raw,format=NV12,colorimetry=bt601", PixelFormat.NV12),
        ("video/x-raw,format=YUY2,colorimetry=bt601", PixelFormat.YUYV),
        ("video/x-bayer,format=rggb", PixelFormat.BAYER_RGGB8),
        ("video/x-bayer,format=bggr", PixelFormat.BAYER_BGGR8),
        ("video/x-bayer,format=grbg", PixelFormat.BAYER_GRBG8),
        ("video/x-bayer,format=gbrg", PixelFormat.BAYER_GBRG8),
    ],
)
def test_cam_17_red_is_red_to_the_last_column_where_rows_are_padded(caps, pixels):
    with own(f"videotestsrc pattern=red ! {caps},width=1366,height=768") as source:
        (picture,) = wait(source, 1)
    assert (picture.format, picture.size_wh) == (pixels, (1366, 768))
    assert np.abs(to_bgr(picture.image).astype(int) - (0, 0, 255)).max() <= 2


def test_buffers_are_stamped_by_the_monotonic_clock():
    before_ns = monotonic_ns()
    with camera(preset="test", width=64, height=48, fps=50.0) as source:
        pictures = wait(source, 12)
    exposed = [picture.exposed_ns for picture in pictures]
    assert before_ns <= exposed[0]
    assert all(one < other for one, other in pairwise(exposed))
    assert all(picture.exposed_ns <= picture.arrived_ns for picture in pictures)
    # 20 ms from one to the next, or a multiple where this machine was busy; reading two clocks may be interrupted.
    off_ms = [abs((other - one) / 1e6 - 20 * round((other - one) / 2e7)) for one, other in pairwise(exposed)]
    assert statistics.median(off_ms) < 2


def test_a_stamp_of_another_clock_is_not_believed():
    with own(f"videotestsrc is-live=true timestamp-offset=3600000000000 ! video/x-raw,format=GRAY8,{SIZE}") as source:
        (picture,) = wait(source, 1)
    assert 0 <= picture.arrived_ns - picture.exposed_ns < 1e9


def test_cam_05_a_live_pipeline_without_an_end_gets_one_that_keeps_the_newest_picture_alone():
    with own(f"videotestsrc is-live=true ! video/x-raw,format=GRAY8,{SIZE}") as source:
        sink = source._sink
        kept = [sink.get_property(name) for name in ("max-buffers", "drop", "sync")]
    assert kept == [1, True, False]


def test_cam_05_a_live_pipeline_that_queues_is_warned_of_in_the_log(caplog):
    with own(f"videotestsrc is-live=true ! video/x-raw,format=GRAY8,{SIZE} ! appsink"):
        pass
    assert "write appsink drop=true max-buffers=1 sync=false" in caplog.text


@pytest.fixture
def pictures(tmp_path: Path) -> str:
    """A pipeline of twelve picture files."""
    for index in range(12):
        cv2.imwrite(str(tmp_path / f"{index}.png"), np.full((12, 16, 3), 40 + index, np.uint8))
    return f"multifilesrc location={tmp_path}/%d.png caps=image/png,framerate=(fraction)30/1 ! pngdec ! videoconvert ! video/x-raw,format=BGR"


def test_cam_05_no_picture_of_a_file_is_lost_however_late_it_is_wanted(pictures):
    with own(pictures) as source:
        found = read_all(source)
    assert [int(picture.data[0, 0, 0]) for picture in found] == list(range(40, 52))
    assert all(one.exposed_ns <= other.exposed_ns for one, other in pairwise(found))


def test_the_end_of_a_file_is_the_end_and_of_a_camera_a_loss(pictures):
    with own(pictures) as source:
        wait(source, 12)
        with pytest.raises(EndOfStream, match="gstreamer own: the pipeline has ended"):
            wait(source, 1)
    live = f"videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,{SIZE} ! {EVERY}"
    with own(live) as source, pytest.raises(SourceLost, match="the pipeline has ended"):
        wait(source, 4)


@pytest.mark.parametrize(
    ("pipeline", "why"),
    [
        ("nvnosuchsrc ! nvvidconv", f"GStreamer has no element nvnosuchsrc; install {JETPACK}"),
        ("avdec_nosuch", "GStreamer has no element avdec_nosuch; install gstreamer1.0-libav"),
        ("videotestsrc colour=red", 'no property "colour" in element "videotestsrc"'),
        ("fakesrc ! fakesink", "the pipeline can't be used: could not link"),
        (
            "videotestsrc ! video/x-raw,format=I420",
            "gives video/x-raw I420, which nobody reads; end it with a converter",
        ),
        ("videotestsrc ! jpegenc", "gives image/jpeg without a format, which nobody reads"),
    ],
)
def test_cam_06_what_can_never_work_is_told_on_entering_and_not_tried_again(pipeline, why):
    with pytest.raises(SourceError) as caught, own(pipeline):
        pass
    assert not isinstance(caught.value, SourceLost)
    assert str(caught.value).startswith("gstreamer own: ")
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("pipeline", "why"),
    [
        ("v4l2src device=/dev/video250", "/dev/video250"),  # not plugged in
        (f"videotestsrc is-live=true ! video/x-raw,format=GRAY8,{SIZE} ! valve drop=true", "no picture after 0.3 s"),
    ],
)
def test_a_camera_that_gives_nothing_when_it_is_opened_is_lost(pipeline, why):
    with pytest.raises(SourceLost, match=why), own(pipeline, open_timeout_s=0.3):
        pass


def test_an_error_of_the_pipeline_is_a_loss_with_its_words():
    failing = f"videotestsrc ! video/x-raw,format=GRAY8,{SIZE} ! identity error-after=3 name=shaky ! {EVERY}"
    with own(failing) as source, pytest.raises(SourceLost, match="gstreamer own: shaky: Failed after iterations"):
        wait(source, 10)


def test_cam_01_a_camera_that_falls_silent_is_lost_after_its_time_out():
    with camera(preset="test", width=64, height=48, read_timeout_s=0.2) as source:
        source._pipeline.set_state(load().gst.State.PAUSED)
        with pytest.raises(SourceLost, match=r"no picture for 0\.2 s"):
            wait(source, 1000)


def test_cam_20_pixel_format_and_size_may_change_in_the_middle():
    one = f"videotestsrc num-buffers=3 ! video/x-raw,format=NV12,colorimetry=bt601,{SIZE} ! c."
    other = "videotestsrc num-buffers=3 ! video/x-raw,format=BGR,width=30,height=20 ! c."
    with own(f"concat name=c ! {EVERY} {one} {other}") as source:
        found = wait(source, 6)
    assert [picture.format for picture in found] == [PixelFormat.NV12] * 3 + [PixelFormat.BGR8] * 3
    assert [picture.size_wh for picture in found] == [(64, 48)] * 3 + [(30, 20)] * 3


@pytest.mark.parametrize(("colours", "told"), [("bt709", True), ("bt601", False), ("1:4:0:0", True)])
def test_colours_that_are_read_a_little_off_are_told_once(colours, told, caplog):
    caps = f"video/x-raw,format=NV12,colorimetry={colours},{SIZE}"
    with own(f"videotestsrc ! {caps}") as source:
        wait(source, 3)
    assert caplog.text.count("are read as bt601") == told


@pytest.mark.parametrize(
    ("buffer", "code", "text"),
    [
        (None, Code.UNREADABLE, "holds no picture"),
        ({"damaged": True}, Code.TORN, "the picture is damaged"),
        ({"mapped": False}, Code.UNREADABLE, "memory can't be read"),
        ({"size": 1000}, Code.TORN, "the buffer has 1000 bytes"),
    ],
)
def test_cam_17_a_sample_without_a_whole_picture_is_a_fault_and_never_a_picture(buffer, code, text):
    flags = SimpleNamespace(BufferFlags=SimpleNamespace(CORRUPTED=1), MapFlags=SimpleNamespace(READ=1))
    fake = (
        None
        if buffer is None
        else SimpleNamespace(
            has_flags=lambda _: buffer.get("damaged", False),
            map=lambda _: (buffer.get("mapped", True), SimpleNamespace(data=bytes(buffer.get("size", 0)))),
            unmap=lambda _: None,
        )
    )
    libraries = SimpleNamespace(gst=flags, video=SimpleNamespace(buffer_get_video_meta=lambda _: None))
    layout = Layout(PixelFormat.GRAY8, (64, 48), (Plane(0, 64),))
    reason = pixels_of(SimpleNamespace(get_buffer=lambda: fake), layout, libraries, PictureMemory())
    assert reason.code is code
    assert text in reason.text


def test_user_name_and_password_reach_the_camera_and_no_message(monkeypatch, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    password = tmp_path / "password"
    password.write_text("s3cret-word")
    plan = Wanted(f"rtspsrc name={CAMERA} latency=0 ! {NEWEST}", {"location": "rtsp://127.0.0.1:1/x"})
    monkeypatch.setattr(gstreamer, "wanted", lambda _: plan)
    keys = {"url": "rtsp://127.0.0.1:1/x", "username": "viewer", "password_file": str(password)}
    source = camera(preset="rtsp-hw", **keys)
    seen = {}

    def trouble():
        element = source._pipeline.get_by_name(CAMERA)
        seen.update({name: element.get_property(name) for name in ("user-id", "user-pw", "location")})
        return Gstreamer._trouble(source)

    monkeypatch.setattr(source, "_trouble", trouble)
    with pytest.raises(SourceLost) as caught:
        source.__enter__()
    assert seen == {"user-id": "viewer", "user-pw": "s3cret-word", "location": "rtsp://127.0.0.1:1/x"}
    assert "s3cret-word" not in str(caught.value) + caplog.text


def test_cam_21_opening_and_closing_leaves_no_thread_and_no_handle_behind():
    def cycle() -> None:
        with camera(preset="test", width=64, height=48) as source:
            wait(source, 2)

    def held() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))  # noqa: PTH208 - counted only

    for _ in range(3):
        cycle()
    handles, tasks = held()
    python_threads = threading.active_count()
    for _ in range(15):
        cycle()
    after = held()
    assert after[0] <= handles + 2
    assert after[1] <= tasks + 2  # GLib keeps a few threads for the next time
    assert threading.active_count() == python_threads
