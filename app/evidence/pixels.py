"""A picture's pixels as the bytes of a file, and back, to the last bit."""

from __future__ import annotations

import zlib
from typing import Any, Literal

import cv2
import msgspec
import numpy as np
from numpy.typing import NDArray

from app.bgr import to_bgr
from app.evidence.png import Pause, no_pause, png
from app.frame import AnyImage, PixelFormat, Pixels, size_of

_AS_PNG = (PixelFormat.BGR8, PixelFormat.GRAY8)


class DamagedPicture(ValueError):  # noqa: N818 - named after the finding
    """A file does not hold the pixels that were written into it."""


class PictureNote(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of pixels holds.

    Attributes:
        ending: of the file's name; empty where there was no picture.
        format: of the pixels, a word of `PixelFormat`.
        width, height: in pixels.
        size: of the file in bytes.
        crc32: of the file.
    """

    ending: str = ""
    format: str = PixelFormat.BGR8.value
    width: int = 0
    height: int = 0
    size: int = 0
    crc32: int = 0


def encode(image: AnyImage, how: Literal["png", "raw"], pause: Pause = no_pause) -> tuple[PictureNote, memoryview]:
    """Return what is written into a file, and the note by which it is read again.

    BGR and grey become a PNG where that is asked for; every other format stays as the camera gave it, rows one after
    the other, because its BGR is not what the network saw.

    Args:
        image: not empty; only read.
        how: of BGR and grey.
        pause: called before each strip of a PNG.
    """
    if isinstance(image, Pixels) and image.region is not None:
        image = to_bgr(image)
    pixels = image.format if isinstance(image, Pixels) else PixelFormat.BGR8
    data = np.ascontiguousarray(image.data if isinstance(image, Pixels) else image)
    ending, payload = f".{pixels.value}", data.reshape(-1).view(np.uint8).data
    if how == "png" and pixels in _AS_PNG:
        ending, payload = ".png", png(data, pause)
    width, height = size_of(image)
    note = PictureNote(
        ending=ending,
        format=pixels.value,
        width=width,
        height=height,
        size=payload.nbytes,
        crc32=zlib.crc32(payload),
    )
    return note, payload


def decode(note: PictureNote, payload: bytes) -> AnyImage:
    """Return the picture that `encode` took.

    Raises:
        DamagedPicture: the bytes are not those that were written.
    """
    if len(payload) != note.size or zlib.crc32(payload) != note.crc32:
        raise DamagedPicture(f"{len(payload)} bytes that are not the {note.size} that were written")
    pixels = PixelFormat(note.format)
    if note.ending == ".png":
        data = cv2.imdecode(np.frombuffer(payload, np.uint8), cv2.IMREAD_UNCHANGED)
        if data is None:
            raise DamagedPicture("no PNG that can be decoded")
    else:
        data = np.frombuffer(payload, pixels.dtype).reshape(pixels.shape((note.width, note.height)))
    picture: NDArray[Any] = np.asarray(data, pixels.dtype)
    return picture if pixels is PixelFormat.BGR8 else Pixels(picture, pixels)


def jpeg(image: NDArray[np.uint8], quality: int) -> memoryview:
    """Return an image as a JPEG."""
    done, payload = cv2.imencode(".jpg", image, (cv2.IMWRITE_JPEG_QUALITY, quality))
    assert done, "OpenCV can write JPEG"
    return np.asarray(payload, np.uint8).data
