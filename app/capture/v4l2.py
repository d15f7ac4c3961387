"""A USB or other V4L2 camera, through OpenCV."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic_ns
from types import TracebackType
from typing import Any, Protocol, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from app.capture.devices import device_path, explain, refusal
from app.capture.picture_file import decode
from app.capture.pixels import to_bgr
from app.capture.rows import take
from app.config.sections import V4l2Source
from app.errors import SourceError, SourceLost
from app.frame import NO_IMAGE, Picture, PixelFormat
from app.picture_memory import PictureMemory
from app.verdict import Reason

MISSES = 10
"""Reads in a row without a picture after which the camera is lost."""

STALE_NS = 5_000_000_000
"""A driver's time stamp older than this is of another clock."""

_DEEP = frozenset({"Y10 ", "Y12 ", "Y16 ", "Y16\0"})

NATIVE = {
    "YUYV": PixelFormat.YUYV,
    "NV12": PixelFormat.NV12,
    "GREY": PixelFormat.GRAY8,
    "RGGB": PixelFormat.BAYER_RGGB8,
    "GRBG": PixelFormat.BAYER_GRBG8,
    "GBRG": PixelFormat.BAYER_GBRG8,
    "BA81": PixelFormat.BAYER_BGGR8,
}
"""What can be handed on as the camera sends it, by V4L2's name."""

log = logging.getLogger(__name__)


class Capture(Protocol):
    """The part of `cv2.VideoCapture` that is used."""

    def isOpened(self) -> bool: ...  # noqa: N802, D102 - OpenCV's name
    def read(self, image: NDArray[Any] | None) -> tuple[bool, NDArray[Any] | None]: ...  # noqa: D102 - OpenCV's
    def set(self, prop: int, value: float) -> bool: ...  # noqa: D102 - OpenCV's
    def get(self, prop: int) -> float: ...  # noqa: D102 - OpenCV's
    def release(self) -> None: ...  # noqa: D102 - OpenCV's


Open: TypeAlias = Callable[[Path], Capture]


def open_v4l2(path: Path) -> Capture:
    """Open a node with the V4L2 part of OpenCV and no other, which would give a nonsense message."""
    # OpenCV waits 10 s for a picture that does not come and reads this once, at its first wait.
    os.environ.setdefault("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", "1")
    capture: Capture = cv2.VideoCapture(str(path), cv2.CAP_V4L2)
    return capture


class V4l2:
    """The pictures of one camera.

    `exposed_ns` is the driver's time stamp where that is of the monotonic clock, else the arrival. JPEGs are taken
    from the driver undecoded, because OpenCV would fill up a torn one. What the driver says of its rate is not used.
    A read may take a second, whatever time-out it is given.

    Args:
        section: which camera, and what is asked of it.
        opens: opens the node; given by tests.
        refuses: says why a node can't be used; given by tests.
        memory: for its pictures.
    """

    def __init__(
        self,
        section: V4l2Source,
        opens: Open = open_v4l2,
        refuses: Callable[[Path], str | None] = refusal,
        memory: PictureMemory | None = None,
    ) -> None:
        self._section = section
        self._opens = opens
        self._refuses = refuses
        self._capture: Capture | None = None
        self._path = Path()
        self._misses = 0
        self._exposed_ns = 0
        self._stamp_ms = 0.0
        self._size_told = False
        self._format = PixelFormat.BGR8
        self._memory = memory or PictureMemory()
        self._last: tuple[tuple[int, ...], np.dtype[Any]] | None = None

    def __enter__(self) -> Self:
        """Open the camera and ask for format, size and rate.

        Raises:
            SourceLost: it can't be had now; the text says what to do.
            SourceError: it gives a format that is not understood.
        """
        self._path = device_path(self._section.device)
        why = self._refuses(self._path)
        if why is not None:
            raise SourceLost(why)
        self._capture = self._opens(self._path)
        self._misses = self._exposed_ns = 0
        self._last = None
        self._stamp_ms = 0.0
        try:
            self._set_up(self._capture)
        except SourceError:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Let go of the camera."""
        if self._capture is not None:
            self._capture.release()
            self._capture = None

    def read(self, timeout_s: float) -> Picture | None:
        """Return the next picture; None where the camera gave none, or one that it gave before."""
        assert self._capture is not None, "read before entering"
        try:
            came, array = self._capture.read(self._room())
        except OSError as error:
            raise SourceLost(f"{self._path}: {explain(error)}") from error
        if not came or array is None or array.size == 0 or self._is_repeated(self._capture):
            self._miss()
            return None
        self._misses = 0
        self._exposed_ns = self._exposure_ns(self._capture, monotonic_ns())
        pixels = self._pixels(self._capture, array)
        if isinstance(pixels, Reason):
            return Picture(NO_IMAGE, self._exposed_ns, monotonic_ns(), fault=pixels)
        picture = Picture(pixels, self._exposed_ns, monotonic_ns(), format=self._format)
        self._tell_size(picture.size_wh)
        return picture

    def _room(self) -> NDArray[Any] | None:
        """Return memory for one more picture like the last; OpenCV takes its own where another one comes."""
        return None if self._last is None else self._memory.take(*self._last)

    def _set_up(self, capture: Capture) -> None:
        """Ask for the format first, because the sizes and rates on offer depend on it, and for its buffers last."""
        if not capture.isOpened():
            raise SourceLost(f"{self._path}: the camera can't be opened; does another program use it?")
        section = self._section
        capture.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*section.fourcc))
        capture.set(cv2.CAP_PROP_FRAME_WIDTH, section.width)
        capture.set(cv2.CAP_PROP_FRAME_HEIGHT, section.height)
        capture.set(cv2.CAP_PROP_FPS, section.fps)
        capture.set(cv2.CAP_PROP_BUFFERSIZE, section.buffers)
        real = _fourcc_of(capture.get(cv2.CAP_PROP_FOURCC))
        if real in _DEEP:
            # OpenCV would keep the upper byte, which of a 12-bit picture is nearly black.
            raise SourceError(
                f"{self._path}: the camera gives {real.strip()}, 10 to 16 bits; set fourcc to MJPG or YUYV"
            )
        self._format = self._native(real) if section.pixel_format == "native" else PixelFormat.BGR8
        if real == "MJPG" or self._format is not PixelFormat.BGR8:
            capture.set(cv2.CAP_PROP_CONVERT_RGB, 0)
        log.info("%s: format %s, asked %s", self._path, real, section.fourcc)

    def _native(self, real: str) -> PixelFormat:
        """Return what is handed on as it comes; a JPEG is decoded all the same.

        Raises:
            SourceError: nobody could read it.
        """
        if real == "MJPG":
            return PixelFormat.BGR8
        if real not in NATIVE:
            raise SourceError(
                f"{self._path}: pixel_format is native, but the camera gives {real.strip()}; set fourcc to "
                f"{', '.join(NATIVE)}, or pixel_format to bgr8"
            )
        return NATIVE[real]

    def _pixels(self, capture: Capture, array: NDArray[Any]) -> NDArray[Any] | Reason:
        """Decode what the camera sent; a JPEG comes as one row of bytes."""
        is_flat = array.size == max(array.shape)
        self._last = None if is_flat else (array.shape, array.dtype)
        if self._format is PixelFormat.BGR8:
            picture = decode(array.tobytes()) if is_flat else to_bgr(array)
            return self._memory.keep(picture) if is_flat and not isinstance(picture, Reason) else picture
        size_wh = int(capture.get(cv2.CAP_PROP_FRAME_WIDTH)), int(capture.get(cv2.CAP_PROP_FRAME_HEIGHT))
        if not is_flat:  # then it knows better than the driver
            rows, width = array.shape[:2]
            size_wh = width, rows // 3 * 2 if self._format is PixelFormat.NV12 else rows
        # What OpenCV gives it has copied out of the driver's buffer.
        return take(np.ascontiguousarray(array).view(np.uint8).ravel(), self._format, size_wh, owned=True)

    def _is_repeated(self, capture: Capture) -> bool:
        """Whether the driver gave a buffer again that it gave before, by its time stamp."""
        return self._stamp_ms > 0 and capture.get(cv2.CAP_PROP_POS_MSEC) == self._stamp_ms

    def _exposure_ns(self, capture: Capture, arrived_ns: int) -> int:
        """Return the driver's time stamp where it can be of the monotonic clock, else the arrival."""
        stamp_ms = capture.get(cv2.CAP_PROP_POS_MSEC)
        earliest_ns = max(arrived_ns - STALE_NS, self._exposed_ns)
        if not earliest_ns / 1e6 <= stamp_ms <= arrived_ns / 1e6:  # so written, it refuses NaN as well
            self._stamp_ms = 0.0
            return arrived_ns
        self._stamp_ms = stamp_ms
        return min(arrived_ns, round(stamp_ms * 1e6))

    def _miss(self) -> None:
        """Count a read without a picture."""
        self._misses += 1
        if self._misses < MISSES:
            return
        if self._exposed_ns == 0:
            often = explain(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
            raise SourceLost(f"{self._path}: the camera opened, but no picture came; often there is {often}")
        raise SourceLost(f"{self._path}: no picture {MISSES} times in a row; was it unplugged?")

    def _tell_size(self, real: tuple[int, int]) -> None:
        """Warn once when the pictures are not of the size asked for; the real size is what counts."""
        asked = self._section.width, self._section.height
        if asked != real and not self._size_told:
            log.warning("%s: asked for %dx%d, the camera gives %dx%d", self._path, *asked, *real)
        self._size_told = True


def _fourcc_of(value: float) -> str:
    """Return a FOURCC as text; the property is a number and may be nonsense."""
    return int(value).to_bytes(4, "little").decode("latin-1") if 0 < value < 1 << 32 else "????"
