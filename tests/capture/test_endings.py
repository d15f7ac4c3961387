"""Whole and cut picture files."""

import cv2
import numpy as np
import pytest

from app.capture.endings import jpeg_reaches_its_end, reaches_its_end

PICTURE = np.random.default_rng(1).integers(0, 256, (48, 64, 3), np.uint8)


def encoded(suffix: str, *flags: int) -> bytes:
    return cv2.imencode(suffix, PICTURE, list(flags))[1].tobytes()


def with_thumbnail(jpeg: bytes) -> bytes:
    """A JPEG with another whole JPEG in its first segment, as cameras write it."""
    thumbnail = encoded(".jpg", cv2.IMWRITE_JPEG_QUALITY, 1)
    segment = b"Exif\0\0" + thumbnail
    return jpeg[:2] + b"\xff\xe1" + (len(segment) + 2).to_bytes(2, "big") + segment + jpeg[2:]


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".bmp"])
def test_a_whole_file_reaches_its_end_and_a_cut_one_does_not(suffix):
    data = encoded(suffix)
    assert reaches_its_end(data) is True
    for share in (0.9, 0.5, 0.1):
        assert reaches_its_end(data[: round(len(data) * share)]) is False


def test_formats_that_do_not_tell_are_left_open():
    assert reaches_its_end(encoded(".tif")) is None
    assert reaches_its_end(b"") is None


def test_an_end_before_any_scan_is_no_picture():
    assert not jpeg_reaches_its_end(b"\xff\xd8\xff\xd9")


def test_a_progressive_jpeg_has_many_scans_and_one_end():
    data = encoded(".jpg", cv2.IMWRITE_JPEG_PROGRESSIVE, 1)
    assert jpeg_reaches_its_end(data)
    assert not jpeg_reaches_its_end(data[:-2])


def test_restart_markers_are_not_an_end():
    data = encoded(".jpg", cv2.IMWRITE_JPEG_RST_INTERVAL, 1)
    assert jpeg_reaches_its_end(data)
    assert not jpeg_reaches_its_end(data[:-2])


def test_the_end_marker_of_a_thumbnail_does_not_count():
    data = with_thumbnail(encoded(".jpg"))
    assert jpeg_reaches_its_end(data)
    assert not jpeg_reaches_its_end(data[: len(data) // 2])
    assert data[: len(data) // 2].count(b"\xff\xd9") == 1


@pytest.mark.parametrize(
    "data",
    [
        encoded(".jpg") + b"\0" * 100,  # padding behind the end
        encoded(".jpg") + encoded(".jpg")[:50],  # a second picture begins
        encoded(".jpg")[:2] + b"\x12\x34" + encoded(".jpg")[2:],  # extraneous bytes before a marker
    ],
)
def test_cam_18_strange_bytes_alone_are_no_reason_to_refuse(data):
    assert jpeg_reaches_its_end(data)
