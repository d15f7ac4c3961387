"""A network camera through FFmpeg: RTSP or HTTP, newest picture first, with time-outs that are kept."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Iterator
from time import monotonic_ns
from types import TracebackType

import av
import av.error
from typing_extensions import Self

from app.capture.address import with_credentials
from app.capture.decoder import Decoder, packets_of, video_of
from app.config.secrets import mask, mask_url, read_secret
from app.config.sections import StreamSource
from app.errors import SourceLost
from app.frame import Picture
from app.picture_memory import PictureMemory

QUIET_S = 1.5
"""While a stream is being opened: seconds without a byte after which it is lost, so that a stop is never held up."""

MISSES = 30
"""Broken pictures in a row after which the stream is opened again."""

LATE_FORMATS = frozenset({"rtsp", "mpegts"})
LATE_CODECS = frozenset({"h264", "hevc", "mpeg4"})
"""Together: FFmpeg looks for the end of a picture by the start of the next one, so that each is one interval late."""

CLOSED = "the camera has closed the stream"


class Stream:
    """The pictures of a network camera, each decoded as soon as its bytes are here.

    A read may take `read_timeout_s`, whatever time-out it is given: FFmpeg can't be called back sooner.
    `exposed_ns` is when the picture's last byte arrived, because what the camera says of its clock is not to be had.
    Where FFmpeg gives a picture only when the next one begins, it is when the picture's own first bytes arrived.
    """

    def __init__(self, section: StreamSource, memory: PictureMemory | None = None) -> None:
        self._section = section
        self._name = mask_url(section.url)
        self._memory = memory or PictureMemory()
        self._container: av.container.InputContainer | None = None
        self._packets: Iterator[av.Packet[av.VideoStream]] = iter(())
        self._decoder: Decoder | None = None
        self._ready: deque[Picture] = deque()
        self._misses = 0
        self._gives_late = False
        self._begun_ns: int | None = None

    def __enter__(self) -> Self:
        """Connect and ask for the stream.

        Raises:
            SourceLost: it can't be had now.
            ConfigError: the password can't be read.
        """
        self._container = self._open()
        video = video_of(self._container)
        if video is None:
            self.__exit__(None, None, None)
            raise SourceLost(f"{self._name}: there is no video in this stream; look at the path in its url")
        self._decoder = Decoder(video, live=True, memory=self._memory)
        self._packets = packets_of(self._container, video)
        self._misses = 0
        self._gives_late = self._container.format.name in LATE_FORMATS and video.codec_context.name in LATE_CODECS
        self._begun_ns = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Hang up."""
        self._packets, self._decoder = iter(()), None
        self._ready.clear()
        if self._container is not None:
            self._container.close()
            self._container = None

    def read(self, timeout_s: float) -> Picture | None:
        """Return the next picture; None where the bytes that came made none yet."""
        if not self._ready:
            self._ready.extend(self._pictures())
        return self._ready.popleft() if self._ready else None

    def _pictures(self) -> Iterator[Picture]:
        """Wait for one packet and yield the pictures it completes."""
        assert self._decoder is not None, "read before entering"
        packet = self._packet()
        exposed_ns = self._exposed_ns()
        for decoded in self._decoder.decode(packet):
            self._misses = self._misses + 1 if decoded.missed else 0
            if self._misses >= MISSES:
                raise SourceLost(f"{self._name}: {MISSES} broken pictures in a row")
            yield Picture(decoded.image_hwc, exposed_ns, monotonic_ns(), fault=decoded.fault)

    def _exposed_ns(self) -> int:
        """Return when the packet that was just given is from; the first bytes of the next one may be what gave it."""
        now_ns = monotonic_ns()
        begun_ns, self._begun_ns = self._begun_ns, now_ns
        return begun_ns if self._gives_late and begun_ns is not None else now_ns

    def _packet(self) -> av.Packet[av.VideoStream]:
        """Wait for a packet, at most the read time-out."""
        began_ns = monotonic_ns()
        try:
            packet = next(self._packets, None)
        except av.error.FFmpegError as error:
            why = CLOSED if error.errno == errno.EIO else _why(error, began_ns)
            raise SourceLost(f"{self._name}: {why}") from None
        if packet is None or not packet.size:
            raise SourceLost(f"{self._name}: {CLOSED}")
        return packet

    def _open(self) -> av.container.InputContainer:
        """Open the address with its credentials, which are kept nowhere."""
        section, began_ns = self._section, monotonic_ns()
        password = read_secret(section.password_file) if section.password_file else None
        try:
            return av.open(
                with_credentials(section.url, section.username, password),
                timeout=(section.open_timeout_s, section.read_timeout_s),
                container_options=_options(section),
                metadata_errors="replace",  # a title may be in any encoding
            )
        except (av.error.FFmpegError, ValueError) as error:
            text = mask(f"{self._name}: {_why(error, began_ns)}", [password or ""])
            # Not "from error": its text holds the whole address, and would be printed with the traceback.
            raise SourceLost(text) from None


def _why(error: Exception, began_ns: int) -> str:
    """Say what went wrong without the address, which FFmpeg's own text holds."""
    waited = f"after {(monotonic_ns() - began_ns) / 1e9:.1f} s"
    match error:
        case av.error.ExitError() | av.error.TimeoutError():
            return f"no data {waited}; is the camera on and reachable?"
        case av.error.HTTPUnauthorizedError():
            return "the camera refuses the login; set username and password_file"
        case av.error.InvalidDataError():
            return f"no proper answer {waited}; is the camera on, and is the path in its url right?"
        case av.error.OSError(errno=errno.EIO):
            return "no connection; are the host's name and the protocol right?"
        case _:
            return getattr(error, "strerror", None) or type(error).__name__


def _options(section: StreamSource) -> dict[str, str]:
    """Return FFmpeg's options: no buffering, little probing, and a limit on silence."""
    quiet_us = str(round(1e6 * min(section.open_timeout_s, max(QUIET_S, section.read_timeout_s))))
    common = {"fflags": "nobuffer", "analyzeduration": "1000000", "fpsprobesize": "0"}
    if section.url.lower().startswith("rtsp"):
        return {**common, "rtsp_transport": section.transport, "timeout": quiet_us, **_buffer(section, "buffer_size")}
    return {**common, "rw_timeout": quiet_us, **_buffer(section, "recv_buffer_size")}


def _buffer(section: StreamSource, option: str) -> dict[str, str]:
    return {} if section.buffer_bytes is None else {option: str(section.buffer_bytes)}
