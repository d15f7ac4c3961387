"""What every source promises, run over every implementation."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from time import monotonic, monotonic_ns

import cv2
import numpy as np
import pytest

from app.capture.base import Source
from app.capture.conveyor import Conveyor
from app.capture.gstreamer import Gstreamer
from app.capture.images import Images
from app.capture.scripted import Scripted, picture_of
from app.capture.stream import Stream
from app.capture.synthetic import Synthetic
from app.capture.v4l2 import V4l2
from app.capture.video import Video
from app.config import sections
from app.errors import EndOfStream, SourceError, SourceLost
from app.frame import Picture
from tests.capture.gst_here import WHY_NOT
from tests.capture.servers import fault_server, rtsp_server
from tests.capture.videos import write_video

PATIENCE_S = 30.0


class MovingCapture:
    """A V4L2 camera of six pictures that then is unplugged."""

    def __init__(self):
        self.count = 0

    def isOpened(self):  # noqa: N802 - OpenCV's name
        return True

    def set(self, prop, value):
        return True

    def get(self, prop):
        return monotonic_ns() / 1e6 if prop == cv2.CAP_PROP_POS_MSEC and self.count else 0.0

    def read(self, image=None):
        self.count += 1
        return (True, np.full((720, 1280), self.count, np.uint8)) if self.count <= 6 else (False, None)

    def release(self):
        """Nothing is held."""


def images(folder: Path, _: ExitStack) -> Source:
    for index in range(6):
        cv2.imwrite(str(folder / f"{index}.png"), np.full((12, 16, 3), 40 + index, np.uint8))
    return Images(sections.ImagesSource(kind="images", path=str(folder)))


def video(folder: Path, _: ExitStack) -> Source:
    return Video(sections.VideoSource(kind="video", path=str(write_video(folder / "a.mp4", "libx264", frames=6))))


def conveyor(folder: Path, stack: ExitStack) -> Source:
    images(folder, stack)
    # Not paced, nor the next one: a busy machine would miss pictures, which is what a camera does.
    return Conveyor(
        sections.ConveyorSource(kind="conveyor", path=str(folder), belt_px_s=80.0, fps=20.0, parts=2, paced=False)
    )


def synthetic(_: Path, __: ExitStack) -> Source:
    return Synthetic(sections.SyntheticSource(kind="synthetic", width=64, height=48, frames=8, paced=False))


def scripted(_: Path, __: ExitStack) -> Source:
    return Scripted([picture_of(value) for value in range(50, 56)])


def v4l2(_: Path, __: ExitStack) -> Source:
    section = sections.V4l2Source(kind="v4l2", device=0)
    return V4l2(section, opens=lambda _: MovingCapture(), refuses=lambda _: None)


def http(_: Path, stack: ExitStack) -> Source:
    return Stream(sections.StreamSource(kind="stream", url=stack.enter_context(fault_server()) + "close"))


def rtsp(_: Path, stack: ExitStack) -> Source:
    url, _ = stack.enter_context(rtsp_server())
    return Stream(sections.StreamSource(kind="stream", url=url + "/h264"))


def gst(**keys) -> Source:
    patient = {"open_timeout_s": PATIENCE_S, "read_timeout_s": PATIENCE_S}
    return Gstreamer(sections.GstreamerSource(kind="gstreamer", **patient, **keys))


def gst_file(folder: Path, stack: ExitStack) -> Source:
    images(folder, stack)
    files = f"multifilesrc location={folder}/%d.png caps=image/png,framerate=(fraction)30/1 ! pngdec ! videoconvert"
    return gst(preset="own", pipeline=f"{files} ! video/x-raw,format=BGR")


def gst_camera(_: Path, __: ExitStack) -> Source:
    return gst(preset="test", width=64, height=48, pixel_format="bgr8")


def gst_going(_: Path, __: ExitStack) -> Source:
    ends = "videotestsrc num-buffers=6 is-live=true ! video/x-raw,format=BGR,width=64,height=48"
    return gst(preset="own", pipeline=ends)


def gst_rtsp(_: Path, stack: ExitStack) -> Source:
    url, _ = stack.enter_context(rtsp_server())
    hears = f"rtspsrc location={url}/jpeg latency=0 ! rtpjpegdepay ! jpegdec ! videoconvert ! video/x-raw,format=BGR"
    return gst(preset="own", pipeline=hears)


IS_HERE = WHY_NOT is None
FINITE = [images, video, conveyor, synthetic, scripted, *[gst_file] * IS_HERE]
LIVE = [v4l2, http, rtsp, *[gst_camera, gst_rtsp] * IS_HERE]
GOING = [v4l2, http, *[gst_going] * IS_HERE]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Source]]:
    """A function that builds a source with all it needs around it."""
    with ExitStack() as stack:
        yield lambda factory: factory(tmp_path, stack)


def read(source: Source, count: int) -> list[Picture]:
    """Read so many pictures, with patience."""
    pictures, deadline = [], monotonic() + PATIENCE_S
    while len(pictures) < count:
        assert monotonic() < deadline, "no picture came"
        picture = source.read(0.1)
        pictures += [picture] if picture is not None else []
    return pictures


@pytest.mark.parametrize("factory", [*FINITE, *LIVE])
def test_pictures_are_bgr_bytes_in_order_of_time(factory, make):
    before_ns = monotonic_ns()
    with make(factory) as source:
        pictures = read(source, 5)
    for picture in pictures:
        assert picture.fault is None
        assert picture.image_hwc.dtype == np.uint8
        assert picture.image_hwc.ndim == 3
        assert picture.image_hwc.shape[2] == 3
        assert picture.image_hwc.flags.c_contiguous
        assert picture.exposed_ns <= picture.arrived_ns
    if factory is not scripted:  # whose pictures were made before
        assert before_ns <= pictures[0].exposed_ns
    assert pictures[-1].arrived_ns <= monotonic_ns()
    assert all(one.exposed_ns <= other.exposed_ns for one, other in pairwise(pictures))
    assert all(one.arrived_ns <= other.arrived_ns for one, other in pairwise(pictures))


@pytest.mark.parametrize("factory", [*FINITE, *LIVE])
def test_a_picture_is_not_written_to_by_those_that_follow(factory, make):
    with make(factory) as source:
        (first,) = read(source, 1)
        kept = first.image_hwc.copy()
        read(source, 3)
    np.testing.assert_array_equal(first.image_hwc, kept)


@pytest.mark.parametrize("factory", [*FINITE, *LIVE])
def test_leaving_twice_is_safe_and_entering_again_starts_afresh(factory, make):
    source = make(factory)
    source.__exit__(None, None, None)
    with source:
        first = read(source, 3)
    source.__exit__(None, None, None)
    with source:
        again = read(source, 3)
    assert [picture.label for picture in again] == [picture.label for picture in first]
    assert {picture.loop for picture in again} == {0}


@pytest.mark.parametrize("factory", FINITE)
def test_the_end_is_told_and_stays_the_end(factory, make):
    with make(factory) as source:
        with pytest.raises(EndOfStream, match=r"\w"):
            read(source, 1000)
        for _ in range(3):
            with pytest.raises(EndOfStream):
                source.read(0.1)


@pytest.mark.parametrize("factory", GOING)
def test_a_camera_that_goes_is_a_loss_and_never_an_end(factory, make):
    with make(factory) as source, pytest.raises(SourceLost, match=r"\w"):
        read(source, 1000)


@pytest.mark.parametrize(
    "source",
    [
        Images(sections.ImagesSource(kind="images", path="/nowhere/x")),
        Video(sections.VideoSource(kind="video", path="/nowhere/x.mp4")),
        Conveyor(sections.ConveyorSource(kind="conveyor", path="/nowhere")),
        V4l2(sections.V4l2Source(kind="v4l2", device=250)),
        Stream(sections.StreamSource(kind="stream", url="rtsp://127.0.0.1:1/x")),
        Gstreamer(sections.GstreamerSource(kind="gstreamer", preset="own", pipeline="nosuchsrc")),
    ],
)
def test_constructing_is_free_and_what_is_not_there_is_told_in_one_line_on_entering(source):
    with pytest.raises(SourceError) as caught, source:
        pass
    assert "\n" not in str(caught.value)
    assert ": " in str(caught.value)
