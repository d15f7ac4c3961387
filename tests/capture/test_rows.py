"""Buffers of cameras: padded rows, bytes too many and too few."""

import numpy as np
import pytest

from app.capture.rows import Plane, take
from app.frame import PixelFormat, Pixels
from app.verdict import Code, Reason
from tests.frames import raw_picture


def bytes_of(data: np.ndarray) -> np.ndarray:
    return np.frombuffer(data.tobytes(), np.uint8)


def data_of(pixels: PixelFormat, size_wh: tuple[int, int]) -> np.ndarray:
    picture = raw_picture(pixels, size_wh)
    return picture.data if isinstance(picture, Pixels) else picture


@pytest.mark.parametrize("pixels", list(PixelFormat))
@pytest.mark.parametrize("extra", [0, 1, 15])
def test_cam_17_bytes_after_the_last_row_are_cut_off(pixels, extra):
    data = data_of(pixels, (24, 16))
    buffer = np.concatenate([bytes_of(data), np.full(extra, 255, np.uint8)])
    taken = take(buffer, pixels, (24, 16))
    np.testing.assert_array_equal(taken, data)
    assert taken.dtype == data.dtype
    assert taken.flags.c_contiguous


@pytest.mark.parametrize("pixels", list(PixelFormat))
def test_cam_17_the_picture_is_a_copy_because_the_driver_uses_its_buffer_again(pixels):
    buffer = bytes_of(data_of(pixels, (24, 16))).copy()
    taken = take(buffer, pixels, (24, 16))
    kept = taken.copy()
    buffer[:] = 0
    np.testing.assert_array_equal(taken, kept)


@pytest.mark.parametrize("pixels", list(PixelFormat))
def test_cam_17_the_row_pitch_is_honoured(pixels):
    data = data_of(pixels, (24, 16))
    rows = data.reshape(len(data), -1).view(np.uint8)
    pitch = rows.shape[1] + 8
    padded = np.full((len(rows), pitch), 255, np.uint8)
    padded[:, : rows.shape[1]] = rows
    planes = [Plane(0, pitch)] + [Plane(16 * pitch, pitch)] * (pixels is PixelFormat.NV12)
    last_row_unpadded = padded.ravel()[:-8]
    for buffer in (padded.ravel(), last_row_unpadded):
        np.testing.assert_array_equal(take(buffer, pixels, (24, 16), planes), data)


def test_cam_17_rows_between_luma_and_chroma_are_left_out():
    data = data_of(PixelFormat.NV12, (24, 18))
    buffer = np.concatenate([bytes_of(data[:18]), np.full(24 * 14, 255, np.uint8), bytes_of(data[18:])])
    taken = take(buffer, PixelFormat.NV12, (24, 18), [Plane(0, 24), Plane(24 * 32, 24)])
    np.testing.assert_array_equal(taken, data)


@pytest.mark.parametrize(
    ("size", "planes", "code", "text"),
    [
        (383, None, Code.TORN, "the buffer has 383 bytes, a 24x16 picture in gray8 needs 384"),  # one byte short
        (0, None, Code.TORN, "the buffer has 0 bytes"),
        (400, None, Code.WRONG_FORMAT, "are rows padded, or pixels packed"),  # may be a byte of padding a row
        (768, None, Code.WRONG_FORMAT, "are rows padded"),  # two bytes a pixel
        (576, None, Code.WRONG_FORMAT, "or pixels packed"),  # 12 bits a pixel
        (384, [Plane(0, 23)], Code.WRONG_FORMAT, "rows of 23 bytes are too short"),
        (384, [Plane(1, 24)], Code.TORN, "384 bytes, a 24x16 picture in gray8 needs 385"),
        (384, [Plane(0, 25)], Code.TORN, "384 bytes"),  # the last row would be read past the end
        (384, [Plane(0, 24)] * 2, Code.WRONG_FORMAT, "2 planes are no gray8, which has 1"),
    ],
)
def test_cam_17_a_buffer_that_does_not_fit_is_refused_and_never_misread(size, planes, code, text):
    reason = take(np.zeros(size, np.uint8), PixelFormat.GRAY8, (24, 16), planes)
    assert isinstance(reason, Reason)
    assert reason.code is code
    assert text in reason.text


def test_cam_17_packed_twelve_bits_are_no_sixteen():
    packed = np.zeros(24 * 16 * 3 // 2, np.uint8)
    assert take(packed, PixelFormat.BAYER_RGGB12, (24, 16)).code is Code.TORN


@pytest.mark.parametrize(
    ("pixels", "size_wh"),
    [(PixelFormat.NV12, (23, 16)), (PixelFormat.NV12, (24, 15)), (PixelFormat.YUYV, (23, 16))],
)
def test_pixels_that_share_their_chroma_come_in_pairs(pixels, size_wh):
    assert take(np.zeros(2000, np.uint8), pixels, size_wh).code is Code.WRONG_SIZE
