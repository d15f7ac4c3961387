"""Pixels in a file, to the last bit."""

import numpy as np
import pytest

from app.bgr import to_bgr
from app.evidence.pixels import DamagedPicture, decode, encode
from app.frame import PixelFormat, Pixels

RANDOM = np.random.default_rng(3)


def picture(pixels):
    most = 4095 if pixels.bits > 8 else 255
    data = RANDOM.integers(0, most + 1, pixels.shape((64, 48))).astype(pixels.dtype)
    return data if pixels is PixelFormat.BGR8 else Pixels(data, pixels)


def data_of(image):
    return image.data if isinstance(image, Pixels) else image


@pytest.mark.parametrize("pixels", list(PixelFormat))
@pytest.mark.parametrize("how", ["png", "raw"])
def test_every_format_comes_back_as_the_camera_gave_it(pixels, how):
    image = picture(pixels)
    note, payload = encode(image, how)
    back = decode(note, bytes(payload))
    assert isinstance(back, Pixels) == isinstance(image, Pixels)
    assert data_of(back).dtype == pixels.dtype
    np.testing.assert_array_equal(data_of(back), data_of(image))
    np.testing.assert_array_equal(to_bgr(back), to_bgr(image))
    assert (note.width, note.height, note.format) == (64, 48, pixels.value)


def test_only_what_every_viewer_knows_becomes_a_png():
    endings = {pixels.value: encode(picture(pixels), "png")[0].ending for pixels in PixelFormat}
    assert endings.pop("bgr8") == endings.pop("gray8") == ".png"
    assert endings == {name: f".{name}" for name in endings}


def test_a_part_of_a_picture_is_kept_in_bgr():
    image = picture(PixelFormat.NV12).crop((8, 6, 40, 30))
    note, payload = encode(image, "raw")
    np.testing.assert_array_equal(decode(note, bytes(payload)), to_bgr(image))


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: b"", lambda data: bytes([data[0] ^ 1]) + data[1:]]
)
def test_what_is_not_what_was_written_is_refused(damage):
    note, payload = encode(picture(PixelFormat.NV12), "raw")
    with pytest.raises(DamagedPicture):
        decode(note, damage(bytes(payload)))
