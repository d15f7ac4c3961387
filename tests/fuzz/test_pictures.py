"""Any bytes as a picture or a video: a picture, a picture with a fault and a reason, or an error of the source."""

import os
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import strategies as st

from app.capture.endings import jpeg_reaches_its_end, reaches_its_end
from app.capture.guard import Guard
from app.capture.images import Images
from app.capture.picture_file import decode
from app.capture.video import Video
from app.config.sections import Guard as GuardSection
from app.config.sections import ImagesSource, VideoSource
from app.errors import EndOfStream, SourceError, SourceLost
from app.frame import NO_IMAGE, Picture
from app.verdict import Code, Reason
from tests.capture.videos import SIZE_WH, write_video
from tests.fuzz.hunt import hunt, mutated

MOST_FRAMES = 12
SUFFIXES = [".avi", ".mp4", ".mkv", ".h264", ".ts"]
FORMATS = [".jpg", ".png", ".bmp", ".tif", ".webp", ".pgm", ".ppm"]


def seeds():
    """Small pictures in each format that counts as one, grey, colour and with 16 bits."""
    noise = np.random.default_rng(1).integers(0, 255, (24, 32, 3), np.uint8)
    deep = noise[..., 0].astype(np.uint16) * 257
    found = [cv2.imencode(suffix, noise)[1].tobytes() for suffix in FORMATS if suffix != ".pgm"]
    found += [cv2.imencode(suffix, noise[..., 0])[1].tobytes() for suffix in (".jpg", ".png", ".pgm", ".tif")]
    found += [cv2.imencode(suffix, deep)[1].tobytes() for suffix in (".png", ".tif")]
    return [*found, cv2.imencode(".jpg", noise, [cv2.IMWRITE_JPEG_PROGRESSIVE, 1])[1].tobytes()]


PICTURES = seeds()


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """OpenCV tells of each broken file on stderr."""
    level = cv2.utils.logging.getLogLevel()
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    yield
    cv2.utils.logging.setLogLevel(level)


@pytest.fixture(scope="module")
def silenced():
    """The libraries behind OpenCV write to the descriptor itself."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    yield
    os.dup2(kept, 2)
    os.close(kept)
    os.close(nowhere)


def sound(image):
    """Assert that an image is what the product takes."""
    assert image.dtype == np.uint8
    assert image.ndim == 3
    assert image.shape[2] == 3
    assert image.size > 0


def test_bytes_of_a_picture_file(silenced):
    def check(data):
        reaches_its_end(data)
        jpeg_reaches_its_end(data)
        found = decode(data)
        if isinstance(found, Reason):
            assert found.code in (Code.TORN, Code.UNREADABLE, Code.WRONG_FORMAT)
            assert found.text
            return found.code.value
        sound(found)
        return "picture"

    words = hunt("pictures: bytes of files", mutated(PICTURES) | st.binary(max_size=200), check)
    assert words["picture"] > 0
    assert words["torn"] > 0


def test_a_folder_of_broken_pictures_is_read_to_its_end(silenced, tmp_path):
    guard = Guard(GuardSection(), live=False)

    def check(files):
        for old in tmp_path.iterdir():
            old.unlink()
        for number, data in enumerate(files):
            (tmp_path / f"{number}{FORMATS[number % len(FORMATS)]}").write_bytes(data)
        faults = 0
        with Images(ImagesSource(kind="images", path=str(tmp_path))) as source:
            for _ in files:
                picture = source.read(1.0)
                assert picture is not None
                fault = picture.fault or guard.check(picture)
                faults += fault is not None
                assert fault is not None or picture.image.size
        return "all faulty" if faults == len(files) else "some good"

    hunt("pictures: folders", st.lists(mutated(PICTURES), min_size=1, max_size=4), check, usual=100)


VIDEOS = [
    ("a.avi", "mjpeg"),
    ("a.mp4", "libx264"),
    ("a.mkv", "libx264"),
    ("a.h264", "libx264"),
    ("a.ts", "libx264"),
    ("a.mp4", "mpeg4"),
]


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    found = {}
    for number, (name, codec) in enumerate(VIDEOS):
        path = write_video(folder / f"{number}{Path(name).suffix}", codec, frames=6, key_every=3)
        found.setdefault(path.suffix, []).append(path.read_bytes())
    return found


def is_faulty(picture):
    """Whether a picture says that it is broken; one that has an image has a sound one."""
    assert isinstance(picture, Picture)
    if picture.image is not NO_IMAGE:
        sound(picture.image)
    return picture.fault is not None


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bytes_of_a_video(videos, silenced, tmp_path, suffix):
    path = tmp_path / f"video{suffix}"

    def check(data):
        path.write_bytes(data)
        faults = []  # keeps what was read before the end
        try:
            with Video(VideoSource(kind="video", path=str(path), paced=False)) as source:
                faults.extend(is_faulty(source.read(1.0)) for _ in range(MOST_FRAMES))
        except EndOfStream:
            return "with faults" if any(faults) else "all good"
        except (SourceError, SourceLost):
            return "refused"
        return "goes on"

    words = hunt(f"videos: {suffix}", mutated(videos[suffix]), check, usual=60)
    assert words["all good"] > 0
    assert SIZE_WH == (160, 120)
