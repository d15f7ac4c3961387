"""Picture files and folders as a source."""

import os
import threading
import time
from pathlib import Path

import cv2
import numpy as np
import pytest

from app.capture.images import Images
from app.capture.listing import natural_key
from app.config.sections import ImagesSource
from app.errors import SourceError, SourceLost
from app.verdict import Code
from tests.capture.reading import read_all

GREY = np.full((12, 16, 3), 90, np.uint8)


def images(path: Path, **keys) -> Images:
    return Images(ImagesSource(kind="images", path=str(path), **keys))


def exif_jpeg(size_wh: tuple[int, int], orientation: int) -> bytes:
    """A JPEG with an EXIF orientation, as a phone writes it."""
    entry = b"\x01\x12\x00\x03\x00\x00\x00\x01" + orientation.to_bytes(2, "big") + b"\0\0"
    tiff = b"MM\0\x2a\0\0\0\x08\0\x01" + entry + b"\0\0\0\0"
    segment = b"Exif\0\0" + tiff
    picture = np.zeros((size_wh[1], size_wh[0], 3), np.uint8)
    picture[:, : size_wh[0] // 4] = 255
    jpeg = cv2.imencode(".jpg", picture)[1].tobytes()
    return jpeg[:2] + b"\xff\xe1" + (len(segment) + 2).to_bytes(2, "big") + segment + jpeg[2:]


def test_src_07_other_things_in_a_folder_are_ignored_and_bad_pictures_are_counted(tmp_path, save):
    for name in ("img10.png", "img2.png"):
        save(name, GREY)
    for name in (".DS_Store", "Thumbs.db", "notes.txt", "._img2.png"):
        (tmp_path / name).write_bytes(b"something")
    (tmp_path / "x.jpg").touch()
    (tmp_path / "sub.png").mkdir()
    pictures = read_all(images(tmp_path))
    assert [picture.label for picture in pictures] == ["img2.png", "img10.png", "x.jpg"]
    assert [picture.fault and picture.fault.code for picture in pictures] == [None, None, Code.UNREADABLE]


def test_src_07_an_empty_folder_is_an_error(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(SourceError, match="no picture in this folder") as caught, images(tmp_path):
        pass
    assert not isinstance(caught.value, SourceLost), "opening it again would not help"


def test_a_path_that_is_not_there_is_an_error_with_the_path(tmp_path):
    with pytest.raises(SourceError, match=r"nowhere.*No such file"), images(tmp_path / "nowhere"):
        pass


@pytest.mark.parametrize("name", ["지단.jpg", "ä ö.png", "a#b?.jpg", "one\ntwo.jpg", "%d.jpg", "IMG.JPG"])
def test_src_05_names_are_read_and_kept(name, tmp_path, save):
    save(name, GREY)
    for path in (tmp_path, tmp_path / name):
        (picture,) = read_all(images(path))
        assert picture.fault is None
        assert picture.label == name


def test_src_05_a_name_that_is_no_unicode_still_gives_valid_text(tmp_path):
    (tmp_path / os.fsdecode(b"\xff\xfe.png")).write_bytes(cv2.imencode(".png", GREY)[1].tobytes())
    (picture,) = read_all(images(tmp_path))
    assert picture.fault is None
    assert picture.label.encode("utf-8")


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
def test_cam_18_a_cut_jpeg_is_torn_and_not_a_picture(share, save, noise):
    (picture,) = read_all(images(save("cut.jpg", noise, share)))
    assert picture.fault.code is Code.TORN
    assert picture.size_wh == (0, 0)


def test_bytes_that_are_no_picture_are_unreadable(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff\xda\x00\x02\xff\xd9")
    (tmp_path / "b.png").write_bytes(b"hello")
    assert [picture.fault.code for picture in read_all(images(tmp_path))] == [Code.UNREADABLE] * 2


@pytest.mark.parametrize(
    ("orientation", "size_wh", "bright_at"),
    [
        (1, (100, 40), (slice(None), slice(0, 20))),
        (3, (100, 40), (slice(None), slice(80, 100))),  # turned by 180°
        (6, (40, 100), (slice(0, 20), slice(None))),  # turned by 90°
    ],
)
def test_geo_09_exif_orientation_is_applied(orientation, size_wh, bright_at, tmp_path):
    (tmp_path / "phone.jpg").write_bytes(exif_jpeg((100, 40), orientation))
    (picture,) = read_all(images(tmp_path))
    assert picture.size_wh == size_wh
    assert picture.image_hwc[bright_at].min() > 200


def test_cam_16_a_12_bit_file_needs_its_bit_depth(save):
    path = save("deep.png", np.linspace(0, 4095, 64 * 64).astype(np.uint16).reshape(64, 64))
    (refused,) = read_all(images(path))
    assert refused.fault.code is Code.WRONG_FORMAT
    (taken,) = read_all(images(path, bit_depth=12))
    assert taken.fault is None
    assert (taken.image_hwc.min(), taken.image_hwc.max()) == (0, 255)


def test_cam_15_grey_and_alpha_files_equal_their_colour_file(save):
    grey = np.random.default_rng(5).integers(0, 256, (20, 30), np.uint8)
    colour = np.dstack([grey] * 3)
    paths = [save("1.png", colour), save("2.png", grey), save("3.png", np.dstack([colour, np.zeros_like(grey)]))]
    for picture in read_all(images(paths[0].parent)):
        np.testing.assert_array_equal(picture.image_hwc, colour)


def test_src_01_a_folder_that_loops_marks_the_round_and_goes_on(save):
    folder = save("1.png", GREY).parent
    save("2.png", GREY)
    with images(folder, on_end="loop") as source:
        pictures = [source.read(0.0) for _ in range(5)]
    assert [(picture.label, picture.loop) for picture in pictures] == [
        ("1.png", 0),
        ("2.png", 0),
        ("1.png", 1),
        ("2.png", 1),
        ("1.png", 2),
    ]


def test_entering_again_begins_with_the_first_round(save):
    source = images(save("1.png", GREY).parent, on_end="loop")
    for _ in range(2):
        with source:
            assert [source.read(0.0).loop for _ in range(2)] == [0, 1]


def test_a_watched_folder_gives_each_new_file_once(tmp_path, save):
    save("1.png", GREY)
    with images(tmp_path, watch=True) as source:
        assert source.read(1.0).label == "1.png"
        assert source.read(0.0) is None
        save("2.png", GREY)
        assert source.read(1.0).label == "2.png"
        assert source.read(0.0) is None


def test_a_watched_file_is_given_only_when_it_is_complete(tmp_path, save, noise):
    whole = save("whole.png", noise).read_bytes()
    with images(tmp_path, watch=True) as source:
        assert source.read(1.0).label == "whole.png"
        growing = tmp_path / "growing.png"
        growing.write_bytes(whole[:1000])
        assert source.read(0.0) is None
        growing.write_bytes(whole)
        picture = source.read(1.0)
    assert picture.label == "growing.png"
    assert picture.fault is None


def test_a_watched_file_that_stays_cut_is_torn_and_not_left_out(save, noise):
    path = save("cut.png", noise, 0.5)
    with images(path.parent, watch=True) as source:
        picture = source.read(30.0)
    assert picture.fault.code is Code.TORN


def test_a_watched_folder_wakes_up_for_a_file_that_comes_later(tmp_path, save):
    with images(tmp_path, watch=True) as source:
        writer = threading.Thread(target=save, args=("late.png", GREY))
        writer.start()
        picture = source.read(30.0)
        writer.join()
    assert picture.label == "late.png"


def test_a_watched_file_is_as_old_as_its_last_write(tmp_path, save):
    save("1.png", GREY)
    with images(tmp_path, watch=True) as source:
        source.read(1.0)
        began_ns = time.monotonic_ns()
        save("2.png", GREY)
        written_ns = time.monotonic_ns()
        exposed_ns = source.read(1.0).exposed_ns
    tick_ns = 20_000_000  # files are dated by the system's coarse clock
    assert began_ns - tick_ns <= exposed_ns <= written_ns


@pytest.mark.parametrize(
    "ahead_s",
    [
        -3600.0,  # the share's clock is behind: as old as the last look that did not find it
        3600.0,  # it is ahead: found just now
    ],
)
def test_a_share_with_a_wrong_clock_dates_no_file_before_the_last_look_or_after_now(tmp_path, save, ahead_s):
    save("1.png", GREY)
    with images(tmp_path, watch=True) as source:
        source.read(1.0)
        looked_ns = time.monotonic_ns()
        assert source.read(0.0) is None
        found_ns = time.monotonic_ns()
        path = save("2.png", GREY)
        os.utime(path, (time.time() + ahead_s,) * 2)
        picture = source.read(1.0)
    assert looked_ns <= picture.exposed_ns <= picture.arrived_ns
    assert (picture.exposed_ns <= found_ns) is (ahead_s < 0)


def test_what_lies_in_a_watched_folder_at_the_start_counts_from_then(tmp_path, save):
    os.utime(save("old.png", GREY), (0, 0))
    before_ns = time.monotonic_ns()
    with images(tmp_path, watch=True) as source:
        assert source.read(1.0).exposed_ns >= before_ns


def test_a_watched_folder_that_is_not_there_may_come(tmp_path):
    with pytest.raises(SourceLost, match="mount it"), images(tmp_path / "share", watch=True):
        pass


def test_a_watched_folder_that_goes_is_lost(tmp_path):
    folder = tmp_path / "share"
    folder.mkdir()
    with images(folder, watch=True) as source:
        folder.rmdir()
        with pytest.raises(SourceLost, match="gone"):
            source.read(0.0)


def test_names_are_sorted_as_people_count():
    names = ["img10", "img2", "IMG1", "img02", "a", "10", "9", "img2b"]
    assert sorted(names, key=natural_key) == ["9", "10", "a", "IMG1", "img02", "img2", "img2b", "img10"]
