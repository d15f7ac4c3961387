"""A video file as a source: every frame of it, in order."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns
from types import TracebackType

import av
import av.error
from typing_extensions import Self

from app.capture.decoder import Decoded, Decoder, packets_of, video_of
from app.capture.listing import label_of
from app.config.sections import VideoSource
from app.errors import EndOfStream, SourceError
from app.frame import Picture
from app.picture_memory import PictureMemory

MISSES = 30
"""Broken frames in a row after which the file is given up."""

MP4_BOXES = frozenset({b"ftyp", b"mdat", b"moov", b"free", b"skip", b"wide"})

log = logging.getLogger(__name__)


class Video:
    """The frames of a file, a broken one as a picture with a fault.

    `exposed_ns` is when the frame's reading began; paced, when it was due by its time stamp in the file.
    """

    def __init__(self, section: VideoSource, memory: PictureMemory | None = None) -> None:
        self._section = section
        self._path = Path(section.path)
        self._memory = memory or PictureMemory()
        self._container: av.container.InputContainer | None = None
        self._frames: Iterator[Decoded] = iter(())
        self._pending: Decoded | None = None
        self._loop = self._index = self._misses = 0
        self._began_ns = 0

    def __enter__(self) -> Self:
        """Open the file at its first frame.

        Raises:
            SourceError: it is not there, no video, or its recording was cut off before the index was written.
        """
        self._loop = 0
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the file."""
        self._frames, self._pending = iter(()), None
        if self._container is not None:
            self._container.close()
            self._container = None

    def read(self, timeout_s: float) -> Picture | None:
        """Return the next frame; None where a paced one is not due in time.

        Raises:
            SourceError: too many frames in a row are broken, or there is none at all.
        """
        read_ns = monotonic_ns()
        decoded = self._pending or self._next()
        self._pending = decoded
        due_ns = self._due_ns(decoded)
        if due_ns is not None and due_ns > read_ns:
            time.sleep(min(timeout_s, (due_ns - read_ns) / 1e9))
            if monotonic_ns() < due_ns:
                return None
            read_ns = due_ns
        self._pending = None
        self._index += 1
        label = f"{label_of(self._path)} frame {self._index}"
        return Picture(decoded.image_hwc, read_ns, monotonic_ns(), label, self._loop, decoded.fault)

    def _start(self) -> None:
        """Open the file and stand before its first frame."""
        self._container, stream = _open(self._path)
        self._frames = self._decode(self._container, stream)
        self._pending = None
        self._index = self._misses = 0
        self._began_ns = monotonic_ns()

    def _next(self) -> Decoded:
        """Decode the next frame, from the beginning again where the file loops."""
        decoded = next(self._frames, None)
        if decoded is None:
            if self._index == 0:
                raise SourceError(f"{self._path}: there is no frame in this video")
            if self._section.on_end == "stop":
                raise EndOfStream(f"{self._path}: the last frame was read")
            loop = self._loop + 1
            self.__exit__(None, None, None)
            self._start()
            self._loop = loop
            return self._next()
        self._misses = self._misses + 1 if decoded.missed else 0
        if self._misses >= MISSES:
            raise SourceError(f"{self._path}: {MISSES} broken frames in a row; the file is damaged")
        return decoded

    def _decode(self, container: av.container.InputContainer, stream: av.VideoStream) -> Iterator[Decoded]:
        """Yield the frames of the file, once; the log names a file that holds fewer than its header promises."""
        decoder = Decoder(stream, live=False, memory=self._memory)
        promised, packets, given = stream.frames, 0, 0
        for packet in packets_of(container, stream):
            packets += packet.size > 0
            for decoded in decoder.decode(packet):
                given += 1
                yield decoded
        if packets < promised:
            log.warning("%s: ended early: %d of %d frames are there", self._path, packets, promised)
        if given < packets:
            log.warning("%s: damaged: %d of %d frames could not be decoded", self._path, packets - given, packets)

    def _due_ns(self, decoded: Decoded) -> int | None:
        """Return when a paced frame is due; one without a time stamp is due at once."""
        if not self._section.paced or decoded.time_s is None:
            return None
        return self._began_ns + round(decoded.time_s * 1e9)


def _open(path: Path) -> tuple[av.container.InputContainer, av.VideoStream]:
    """Open a file and find its video stream."""
    try:
        container = av.open(str(path), metadata_errors="replace")  # a title may be in any encoding
    except av.error.FFmpegError as error:
        raise SourceError(f"{path}: {_why(path, error)}") from error
    video = video_of(container)
    if video is None:
        container.close()
        raise SourceError(f"{path}: there is no video in this file that can be decoded")
    return container, video


def _why(path: Path, error: av.error.FFmpegError) -> str:
    """Say why a file can't be opened: of an MP4 whose end is missing FFmpeg says only that its data is invalid."""
    head = b""
    with suppress(OSError), path.open("rb") as file:
        head = file.read(8)
    if isinstance(error, av.error.InvalidDataError) and head[4:8] in MP4_BOXES:
        return "file incomplete (no index): the recording was cut off; record it again or repair it"
    return f"FFmpeg can't read this file: {error.strerror}"
