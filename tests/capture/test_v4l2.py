"""V4L2 cameras, with a capture that records what it is asked."""

import errno
import logging
import math
import os
from threading import Event
from time import monotonic_ns

import cv2
import numpy as np
import pytest

from app.capture.feed import Feed
from app.capture.guard import Guard
from app.capture.v4l2 import MISSES, V4l2, open_v4l2
from app.config.sections import Guard as GuardSection
from app.config.sections import Reopen, V4l2Source
from app.errors import EndOfStream, SourceError, SourceLost
from app.frame import Picture, PixelFormat
from app.verdict import Code

MJPG, YUYV, Y16 = (cv2.VideoWriter.fourcc(*name) for name in ("MJPG", "YUYV", "Y16 "))
GREY = np.full((720, 1280, 3), 90, np.uint8)


class FakeCapture:
    """Gives scripted reads and claims whatever a driver may claim."""

    def __init__(self, reads=(), fourcc: int = YUYV, opened: bool = True, fps: float = 30.0, stamps_ms=()):
        self.reads, self.stamps_ms = list(reads), list(stamps_ms)
        self.sets, self.released, self.opened = [], 0, opened
        self.claims = {cv2.CAP_PROP_FOURCC: fourcc, cv2.CAP_PROP_FPS: fps, cv2.CAP_PROP_POS_MSEC: 0.0}

    def isOpened(self):  # noqa: N802 - OpenCV's name
        return self.opened

    def set(self, prop, value):
        self.sets.append((prop, value))
        return True

    def get(self, prop):
        return self.claims.get(prop, -1.0)

    def read(self, image=None):
        if self.stamps_ms:
            self.claims[cv2.CAP_PROP_POS_MSEC] = self.stamps_ms.pop(0)
        step = self.reads.pop(0) if self.reads else (False, None)
        if isinstance(step, Exception):
            raise step
        return step

    def release(self):
        self.released += 1


def camera(capture: FakeCapture, **keys) -> V4l2:
    section = V4l2Source(kind="v4l2", device=0, **keys)
    return V4l2(section, opens=lambda _: capture, refuses=lambda _: None)


def read_once(capture: FakeCapture) -> Picture | None:
    with camera(capture) as source:
        return source.read(0.1)


def jpeg_row(image: np.ndarray, share: float = 1.0) -> np.ndarray:
    """What OpenCV hands over undecoded: one row of bytes."""
    data = cv2.imencode(".jpg", image)[1].reshape(1, -1)
    return data[:, : round(data.size * share)]


def test_cam_14_the_format_is_asked_for_before_size_and_rate():
    capture = FakeCapture()
    with camera(capture, width=1920, height=1080, fps=25.0):
        pass
    assert capture.sets == [
        (cv2.CAP_PROP_FOURCC, MJPG),
        (cv2.CAP_PROP_FRAME_WIDTH, 1920),
        (cv2.CAP_PROP_FRAME_HEIGHT, 1080),
        (cv2.CAP_PROP_FPS, 25.0),
        (cv2.CAP_PROP_BUFFERSIZE, 1),
    ]


def test_cam_14_the_real_format_is_read_back_and_logged(caplog):
    caplog.set_level(logging.INFO)
    with camera(FakeCapture(fourcc=YUYV)):
        pass
    assert "format YUYV, asked MJPG" in caplog.text


def test_cam_14_usb_bandwidth_is_not_called_a_full_disk():
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(SourceLost, match="USB bandwidth"):
        read_once(FakeCapture([full]))


def test_cam_14_a_camera_that_opens_but_never_gives_a_picture_names_the_bandwidth():
    with camera(FakeCapture()) as source:
        for _ in range(MISSES - 1):
            assert source.read(0.1) is None
        with pytest.raises(SourceLost, match="USB bandwidth"):
            source.read(0.1)


def test_cam_13_the_real_size_counts_and_is_told_once(caplog):
    real = np.full((1472, 2560, 3), 90, np.uint8)
    with camera(FakeCapture([(True, real), (True, real)]), width=1280, height=720) as source:
        assert [source.read(0.1).size_wh for _ in range(2)] == [(2560, 1472)] * 2
    assert caplog.text.count("asked for 1280x720, the camera gives 2560x1472") == 1


@pytest.mark.parametrize(
    "read",
    [
        (False, None),
        (True, None),  # a time-out reported as success
        (True, np.empty((0, 0, 3), np.uint8)),
        (False, GREY),
    ],
)
def test_cam_08_none_and_empty_never_become_a_picture(read):
    assert read_once(FakeCapture([read])) is None


def test_cam_08_a_buffer_given_again_is_no_new_picture():
    stamp_ms = monotonic_ns() / 1e6 - 5.0
    capture = FakeCapture([(True, GREY)] * 3, stamps_ms=[stamp_ms, stamp_ms, stamp_ms + 1.0])
    with camera(capture) as source:
        pictures = [source.read(0.1) for _ in range(3)]
    assert [picture is not None for picture in pictures] == [True, False, True]


def test_a_camera_that_goes_silent_is_lost_and_one_picture_starts_the_count_anew():
    reads = [(True, GREY), *[(False, None)] * (MISSES - 1), (True, GREY)]
    with camera(FakeCapture(reads)) as source:
        assert [source.read(0.1) is not None for _ in reads] == [True, *[False] * (MISSES - 1), True]
        for _ in range(MISSES - 1):
            source.read(0.1)
        with pytest.raises(SourceLost, match="unplugged"):
            source.read(0.1)


def test_the_driver_s_time_stamp_is_the_exposure():
    stamp_ms = monotonic_ns() / 1e6 - 20.0
    picture = read_once(FakeCapture([(True, GREY)], stamps_ms=[stamp_ms]))
    assert picture.exposed_ns == pytest.approx(stamp_ms * 1e6, abs=1000)
    assert picture.exposed_ns < picture.arrived_ns


@pytest.mark.parametrize(
    "stamp_ms",
    [
        0.0,
        -1.0,
        math.nan,
        math.inf,
        1.7e12,  # the wall clock
        5.0,  # counted from the opening
    ],
)
def test_a_time_stamp_of_another_clock_is_not_believed(stamp_ms):
    before_ns = monotonic_ns()
    picture = read_once(FakeCapture([(True, GREY)], stamps_ms=[stamp_ms]))
    assert before_ns <= picture.exposed_ns <= picture.arrived_ns


def test_exposures_never_run_backwards():
    now_ms = monotonic_ns() / 1e6
    capture = FakeCapture([(True, GREY)] * 3, stamps_ms=[now_ms - 10, now_ms - 30, now_ms - 5])
    with camera(capture) as source:
        exposed = [source.read(0.1).exposed_ns for _ in range(3)]
    assert exposed == sorted(exposed)


@pytest.mark.parametrize("fps", [0.0, math.nan, -1.0, 2000.0, 90000.0, 180000.0])
def test_cam_09_a_nonsense_rate_changes_nothing(fps):
    frames = []
    capture = FakeCapture(
        [*[(True, np.full_like(GREY, 50 + index)) for index in range(5)], EndOfStream("end")], fps=fps
    )
    feed = Feed(
        "front",
        lambda: camera(capture),
        guard=Guard(GuardSection(), live=True),
        reopen=Reopen(),
        put=frames.append,
        on_state=lambda *_: None,
    )
    feed.run(Event())
    span_ns = frames[-1].picture.arrived_ns - frames[0].picture.arrived_ns
    assert feed.fps == pytest.approx(4e9 / span_ns)


def test_cam_15_grey_and_alpha_cameras_give_colour_pictures():
    for array in (GREY[:, :, 0], GREY[:, :, :1], np.dstack([GREY, GREY[:, :, :1]])):
        np.testing.assert_array_equal(read_once(FakeCapture([(True, array)])).image_hwc, GREY)


def test_cam_16_a_camera_with_deep_pixels_is_refused_by_name():
    capture = FakeCapture(fourcc=Y16)
    with pytest.raises(SourceError, match="the camera gives Y16") as caught, camera(capture):
        pass
    assert not isinstance(caught.value, SourceLost)
    assert capture.released == 1
    picture = read_once(FakeCapture([(True, np.full((4, 4), 4095, np.uint16))]))
    assert picture.fault.code is Code.WRONG_FORMAT


def test_cam_18_jpegs_are_taken_undecoded_so_that_a_torn_one_is_seen(noise):
    whole, torn = jpeg_row(noise), jpeg_row(noise, 0.5)
    capture = FakeCapture([(True, whole), (True, torn), (True, whole)], fourcc=MJPG)
    with camera(capture) as source:
        pictures = [source.read(0.1) for _ in range(3)]
    assert (cv2.CAP_PROP_CONVERT_RGB, 0) in capture.sets
    assert [picture.fault and picture.fault.code for picture in pictures] == [None, Code.TORN, None]
    assert pictures[0].size_wh == (640, 480)


def test_a_camera_that_cannot_be_opened_is_lost_and_let_go():
    capture = FakeCapture(opened=False)
    with pytest.raises(SourceLost, match="another program"), camera(capture):
        pass
    assert capture.released == 1


def test_a_node_that_is_refused_is_not_opened():
    section = V4l2Source(kind="v4l2", device=0)
    source = V4l2(section, opens=lambda _: pytest.fail("opened"), refuses=lambda path: f"{path}: no permission")
    with pytest.raises(SourceLost, match="no permission"), source:
        pass


def test_the_real_opening_names_v4l2_and_shortens_its_wait(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", raising=False)
    asked = []
    monkeypatch.setattr(cv2, "VideoCapture", lambda *arguments: asked.append(arguments))
    open_v4l2(tmp_path / "video0")
    assert asked == [(str(tmp_path / "video0"), cv2.CAP_V4L2)]
    assert os.environ.pop("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT") == "1"


NATIVE_READS = [
    ("YUYV", (720, 1280, 2), PixelFormat.YUYV),
    ("NV12", (1080, 1280), PixelFormat.NV12),
    ("NV12", (1, 1280 * 1080), PixelFormat.NV12),  # in one row
    ("GREY", (720, 1280), PixelFormat.GRAY8),
    ("GREY", (720, 1280, 1), PixelFormat.GRAY8),
    ("BA81", (720, 1280), PixelFormat.BAYER_BGGR8),
    ("GBRG", (1, 1280 * 720 + 312), PixelFormat.BAYER_GBRG8),  # with bytes after the last row
]


@pytest.mark.parametrize(("fourcc", "shape", "pixels"), NATIVE_READS)
def test_cam_17_pixels_are_handed_on_as_the_camera_sends_them_where_that_is_asked(fourcc, shape, pixels):
    array = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
    capture = FakeCapture([(True, array)], fourcc=cv2.VideoWriter.fourcc(*fourcc))
    capture.claims |= {cv2.CAP_PROP_FRAME_WIDTH: 1280.0, cv2.CAP_PROP_FRAME_HEIGHT: 720.0}
    with camera(capture, fourcc=fourcc, pixel_format="native") as source:
        picture = source.read(0.1)
    assert (cv2.CAP_PROP_CONVERT_RGB, 0) in capture.sets
    assert (picture.format, picture.size_wh, picture.fault) == (pixels, (1280, 720), None)
    np.testing.assert_array_equal(picture.data.ravel(), array.ravel()[: picture.data.size])


def test_cam_13_the_real_size_of_native_pixels_counts_too(caplog):
    capture = FakeCapture([(True, np.full((1472, 2560, 2), 90, np.uint8))], fourcc=YUYV)
    capture.claims |= {cv2.CAP_PROP_FRAME_WIDTH: 1280.0, cv2.CAP_PROP_FRAME_HEIGHT: 720.0}
    with camera(capture, pixel_format="native") as source:
        assert source.read(0.1).size_wh == (2560, 1472)
    assert "asked for 1280x720, the camera gives 2560x1472" in caplog.text


def test_a_jpeg_is_decoded_even_where_native_is_asked():
    capture = FakeCapture([(True, jpeg_row(GREY))], fourcc=MJPG)
    with camera(capture, pixel_format="native") as source:
        assert source.read(0.1).format is PixelFormat.BGR8


def test_cam_17_a_format_that_nobody_could_read_is_refused_by_its_name():
    capture = FakeCapture(fourcc=cv2.VideoWriter.fourcc(*"pRCC"))
    with pytest.raises(SourceError, match="the camera gives pRCC; set fourcc to YUYV, NV12"):
        camera(capture, pixel_format="native").__enter__()


def test_cam_17_a_native_buffer_that_is_too_short_is_torn():
    capture = FakeCapture([(True, np.zeros((1, 1000), np.uint8))], fourcc=cv2.VideoWriter.fourcc(*"GREY"))
    capture.claims |= {cv2.CAP_PROP_FRAME_WIDTH: 1280.0, cv2.CAP_PROP_FRAME_HEIGHT: 720.0}
    with camera(capture, pixel_format="native") as source:
        picture = source.read(0.1)
    assert picture.fault.code is Code.TORN
    assert picture.size_wh == (0, 0)
