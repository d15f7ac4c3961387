"""The comparison of two ways to one camera: what is read from its pictures, and how pictures are matched."""

import io

import numpy as np
import pytest
from rich.console import Console

from app.bench.capture_paths import WAYS, painted_ns, source_of, table
from app.bench.timecode import paint
from app.capture.gstreamer import Gstreamer
from app.capture.stream import Stream
from app.frame import Picture, PixelFormat


@pytest.mark.parametrize("pixels", [PixelFormat.NV12, PixelFormat.BGR8])
def test_the_painted_time_is_read_from_both_kinds_of_pixels(pixels):
    data = np.full(pixels.shape((640, 480)), 128, np.uint8)
    width = 1 if pixels is PixelFormat.NV12 else 3
    paint(data.data.cast("B"), 640 * width, width, 123_456_789)
    assert painted_ns(Picture(data, 1, 2, format=pixels)) == 123_456_789
    assert painted_ns(Picture(np.full_like(data, 128), 1, 2, format=pixels)) is None


def test_each_way_is_the_source_that_it_is_named_after():
    kinds = [type(source_of(way, "rtsp://127.0.0.1:1/x")) for way in WAYS]
    assert kinds == [Stream, Gstreamer, Gstreamer]


def test_later_is_told_of_the_pictures_that_both_ways_have():
    found = {
        WAYS[0]: {"ages": [(1, 10.0), (2, 12.0), (3, 11.0)], "unread": 0, "cores": 0.5},
        WAYS[1]: {"ages": [(2, 15.0), (3, 14.0), (9, 90.0)], "unread": 1, "cores": 0.25},
    }
    screen = io.StringIO()
    Console(file=screen, width=160).print(table(found))
    row = next(line for line in screen.getvalue().splitlines() if WAYS[1] in line)
    assert "+3.00" in row
    assert "0.25" in row
    assert "3, 2" in row
