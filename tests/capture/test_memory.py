"""Sources put their pictures into memory that is used again, and never into a picture that somebody still holds."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic

import cv2
import numpy as np
import pytest

from app.capture.base import Source
from app.capture.conveyor import Conveyor
from app.capture.isolated import Isolated, python_module
from app.capture.rows import Plane, take
from app.capture.synthetic import Synthetic
from app.capture.v4l2 import V4l2
from app.capture.video import Video
from app.config import sections
from app.errors import EndOfStream
from app.frame import Picture, PixelFormat
from app.picture_memory import BLOCKS, PictureMemory, block_of
from tests.capture.gst_here import WHY_NOT
from tests.capture.videos import write_video
from tests.frames import raw_picture


class DrivenCapture:
    """A camera of OpenCV's: it fills the memory that it is given where that fits, and takes its own where not."""

    def __init__(self, shape: tuple[int, ...] = (48, 64, 3), fourcc: str = "YUYV") -> None:
        self.count, self.given = 0, 0
        self._shape, self._fourcc = shape, cv2.VideoWriter.fourcc(*fourcc)

    def isOpened(self):  # noqa: N802 - OpenCV's name
        return True

    def set(self, prop, value):
        return True

    def get(self, prop):
        return self._fourcc if prop == cv2.CAP_PROP_FOURCC else 0.0

    def read(self, image=None):
        self.count += 1
        if image is None or image.shape != self._shape or image.dtype != np.uint8:
            image = np.empty(self._shape, np.uint8)
        else:
            self.given += 1
        image.fill(self.count)
        return True, image

    def release(self):
        """Nothing is held."""


def v4l2(capture: DrivenCapture, **keys: object) -> V4l2:
    section = sections.V4l2Source(kind="v4l2", device=0, **keys)
    return V4l2(section, opens=lambda _: capture, refuses=lambda _: None, memory=PictureMemory(worth_a_copy=True))


def conveyor(folder: Path) -> Source:
    for number in range(4):
        cv2.imwrite(str(folder / f"{number}.png"), np.full((48, 64, 3), 40 + number, np.uint8))
    keys = {"path": str(folder), "belt_px_s": 80.0, "fps": 20.0, "parts": 0, "paced": False}
    return Conveyor(sections.ConveyorSource(kind="conveyor", **keys))


def video(folder: Path, memory: PictureMemory) -> Source:
    path = write_video(folder / "a.mp4", "libx264")
    return Video(sections.VideoSource(kind="video", path=str(path), paced=False), memory)


class JpegCapture(DrivenCapture):
    """One whose pictures come undecoded, as a row of bytes."""

    def __init__(self) -> None:
        super().__init__(fourcc="MJPG")

    def read(self, image=None):
        assert image is None, "none of its rows is as long as another"
        self.count += 1
        return True, cv2.imencode(".jpg", np.full((48, 64, 3), 4 * self.count, np.uint8))[1].reshape(1, -1)


def gstreamer(_: Path, memory: PictureMemory | None = None) -> Source:
    from app.capture.gstreamer import Gstreamer  # noqa: PLC0415 - only where this Python can have it

    memory = memory or PictureMemory(worth_a_copy=True)
    text = "videotestsrc pattern=ball num-buffers=30 ! video/x-raw,format=BGR,width=90,height=48 ! appsink sync=false"
    return Gstreamer(
        sections.GstreamerSource(kind="gstreamer", preset="own", pipeline=text, open_timeout_s=20.0), memory
    )


SYNTHETIC = sections.SyntheticSource(kind="synthetic", width=64, height=48, paced=False)
SOURCES: dict[str, Callable[[Path], Source]] = {
    "synthetic": lambda _: Synthetic(SYNTHETIC),
    "conveyor": conveyor,
    "video": lambda folder: video(folder, PictureMemory(worth_a_copy=True)),
    "v4l2 with JPEGs": lambda _: v4l2(JpegCapture()),
    "v4l2": lambda _: v4l2(DrivenCapture()),
    "v4l2 in its own format": lambda _: v4l2(DrivenCapture((48, 64, 2)), pixel_format="native", fourcc="YUYV"),
    "in a process of its own": lambda _: Isolated(SYNTHETIC, python_module("app.wiring.isolate"), 20.0),
}
if WHY_NOT is None:
    SOURCES["gstreamer"] = gstreamer


IN_PROCESS = [name for name in SOURCES if name != "in a process of its own"]
"""Those that begin at once."""


def read(source: Source, count: int) -> list[Picture]:
    pictures: list[Picture] = []
    until = monotonic() + 60
    while len(pictures) < count:
        assert monotonic() < until
        picture = source.read(0.2)
        pictures += [picture] if picture is not None else []
    return pictures


@pytest.mark.parametrize("name", IN_PROCESS)
def test_pictures_lie_in_few_blocks_one_after_another(name: str, tmp_path: Path) -> None:
    with SOURCES[name](tmp_path) as source:
        read(source, 2)  # by then it knows what its pictures are like
        blocks = {block_of(picture.data) for _ in range(15) for picture in read(source, 1)}
    assert None not in blocks
    assert len(blocks) <= 3, "the one that is read and the one that is looked at, and a source may be one ahead"


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_held_is_never_written_to_again_and_a_reader_never_waits(name: str, tmp_path: Path) -> None:
    held = []
    with SOURCES[name](tmp_path) as source:
        for picture in (read(source, 1)[0] for _ in range(BLOCKS + 8)):
            held.append((picture.data, picture.data.copy()))
    assert sum(block_of(data) is not None for data, _ in held) == BLOCKS, "the others took ordinary memory"
    for data, copied in held:
        np.testing.assert_array_equal(data, copied)
    assert len({copied.tobytes() for _, copied in held}) > 1, "pictures that differ"


@pytest.mark.parametrize("name", IN_PROCESS)
def test_pictures_outlive_their_source(name: str, tmp_path: Path) -> None:
    with SOURCES[name](tmp_path) as source:
        pictures = [(picture.data, picture.data.copy()) for picture in read(source, 4)]
    del source
    for data, copied in pictures:
        np.testing.assert_array_equal(data, copied)


def test_opencv_is_given_memory_from_the_second_picture_on() -> None:
    capture = DrivenCapture()
    with v4l2(capture) as source:
        pictures = read(source, 5)
    assert capture.given == 4
    assert [int(picture.data.max()) for picture in pictures] == [1, 2, 3, 4, 5]


def test_a_camera_that_changes_its_size_takes_its_own_memory_once() -> None:
    capture = DrivenCapture()
    with v4l2(capture) as source:
        read(source, 3)
        capture._shape = (96, 128, 3)
        pictures = read(source, 3)
    assert [picture.size_wh for picture in pictures] == [(128, 96)] * 3
    assert capture.given == 2 + 2


def test_the_real_opencv_fills_the_memory_that_it_is_given(tmp_path: Path) -> None:
    """Not by V4L2, which needs a camera: by OpenCV's own reader of the same kind."""
    capture = cv2.VideoCapture(str(write_video(tmp_path / "a.avi")), cv2.CAP_OPENCV_MJPEG)
    memory = PictureMemory()
    came, first = capture.read(None)
    assert came
    for _ in range(3):
        given = memory.take(first.shape, first.dtype)
        came, picture = capture.read(given)
        assert came
        assert block_of(picture) is block_of(given) is not None
        assert picture.std() > 1, "it was filled"
        small = memory.take((4, 4, 3))
        came, picture = capture.read(small)
        assert came
        assert picture.shape == first.shape
        assert block_of(picture) is None
    capture.release()


@pytest.mark.parametrize("pixels", list(PixelFormat))
def test_padded_rows_are_copied_straight_into_the_memory(pixels: PixelFormat) -> None:
    picture = raw_picture(pixels, (24, 16))
    data = picture if isinstance(picture, np.ndarray) else picture.data
    rows = data.reshape(len(data), -1).view(np.uint8)
    padded = np.pad(rows, ((0, 0), (0, 8)), constant_values=255)
    pitch = padded.shape[1]
    planes = [Plane(0, pitch)] + [Plane(16 * pitch, pitch)] * (pixels is PixelFormat.NV12)
    memory = PictureMemory()
    taken = take(padded.ravel(), pixels, (24, 16), planes, memory=memory)
    assert isinstance(taken, np.ndarray)
    np.testing.assert_array_equal(taken, data)
    assert taken.dtype == data.dtype
    assert block_of(taken) is not None


def test_nothing_is_held_after_the_end(tmp_path: Path) -> None:
    memory = PictureMemory(worth_a_copy=True)
    source = video(tmp_path, memory)
    with source:
        for _ in range(30):
            read(source, 1)
        with pytest.raises(EndOfStream):
            source.read(0.2)
    assert memory.missed == 0
    assert not any(block.is_held for block in memory._blocks)


@pytest.mark.parametrize("make", [video, *([gstreamer] if WHY_NOT is None else [])])
def test_what_a_library_has_put_elsewhere_is_not_copied_where_nobody_gains_by_it(make, tmp_path: Path) -> None:
    with make(tmp_path, PictureMemory()) as source:
        pictures = read(source, 3)
    if pictures[0].size_wh[0] % 32 == 0:
        assert [block_of(picture.data) for picture in pictures] == [None] * 3
    assert all(picture.data.flags.c_contiguous for picture in pictures)
