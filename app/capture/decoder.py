"""Packets of a video stream in, pictures out; what came damaged says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import av
import av.container
import av.error
import av.logging
import numpy as np

from app.capture.endings import jpeg_reaches_its_end
from app.frame import NO_IMAGE, Image
from app.picture_memory import PictureMemory
from app.verdict import Code, Reason

# FFmpeg prints URLs with their passwords; what matters of its messages comes back as an error.
av.logging.set_level(None)

THREADS = 2
"""Of one decoder. Most cameras send one slice a picture, where more do nothing; FFmpeg would start up to 16."""

_JPEG_CODECS = frozenset({"mjpeg", "mjpegb"})
_OPTIONS = {"err_detect": "explode"}  # refuse what is damaged instead of painting over it


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """One picture of a video, or the reason why there is none.

    Attributes:
        image_hwc: uint8 (h, w, 3) BGR, owned by whoever takes it; `NO_IMAGE` where none could be had.
        time_s: its time stamp in the stream in seconds, None where it has none.
        missed: the packet itself was bad (and not only something before it).
    """

    image_hwc: Image
    time_s: float | None
    fault: Reason | None = None
    missed: bool = False


def video_of(container: av.container.InputContainer) -> av.VideoStream | None:
    """Return the first video stream of an open container that FFmpeg has a decoder for; None where there is none."""
    usable = (stream for stream in container.streams.video if getattr(stream, "codec_context", None) is not None)
    return next(usable, None)


def packets_of(container: av.container.InputContainer, video: av.VideoStream) -> Iterator[av.Packet[av.VideoStream]]:
    """Yield the packets of one stream; those of a stream that begins in the middle are passed over.

    PyAV knows only the streams of the opening, and fails at the first packet of another one, which it has then taken.
    """
    while True:
        try:
            yield from container.demux(video)
        except IndexError:
            continue
        return


class Decoder:
    """Decodes one video stream without delay: threads share one picture instead of holding back several.

    After a damaged picture those that build upon it are damaged too, up to the next key frame, however good they look.
    """

    def __init__(self, stream: av.VideoStream, live: bool, memory: PictureMemory) -> None:
        """Set the decoder up.

        Args:
            stream: of an open container; nothing of it was decoded yet.
            live: leave out delay, and what came before the first key frame. Of a file every frame is given.
            memory: that pictures are put in.
        """
        context = stream.codec_context
        context.options = {**_OPTIONS, "flags": "+low_delay" if live else "+output_corrupt"}
        context.thread_type = "SLICE"
        context.thread_count = THREADS
        self._is_jpeg = context.name in _JPEG_CODECS
        self._damaged = False
        self._memory = memory

    def decode(self, packet: av.Packet[av.VideoStream]) -> list[Decoded]:
        """Return what one packet brings; an empty packet flushes the decoder."""
        if self._is_jpeg and packet.size and not jpeg_reaches_its_end(bytes(packet)):
            return [_missed("the JPEG is cut off: its end marker is missing")]
        try:
            frames = packet.decode()
        except av.error.FFmpegError as error:
            self._damaged = True
            return [_missed(f"the picture can't be decoded: {error.strerror}")]
        return [self._decoded(frame, packet.is_corrupt) for frame in frames if isinstance(frame, av.VideoFrame)]

    def _decoded(self, frame: av.VideoFrame, packet_is_corrupt: bool) -> Decoded:
        """Convert one frame and say whether it can be trusted."""
        if packet_is_corrupt or frame.is_corrupt:
            self._damaged = True
        elif frame.key_frame:
            self._damaged = False
        fault = Reason(Code.TORN, "data was damaged since the last key frame") if self._damaged else None
        # In this thread: by default FFmpeg would start one for each core and camera just to change the pixel format.
        converted = np.asarray(frame.to_ndarray(format="bgr24", threads=1), np.uint8)
        image_hwc = self._memory.keep(converted)
        return Decoded(image_hwc, frame.time, fault)


def _missed(text: str) -> Decoded:
    return Decoded(NO_IMAGE, None, Reason(Code.TORN, text), missed=True)
