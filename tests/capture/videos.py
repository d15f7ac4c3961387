"""Small video files for tests."""

import struct
from pathlib import Path

import av

from app.capture.synthetic import draw

SIZE_WH = (160, 120)


def write_video(path: Path, codec: str = "mjpeg", frames: int = 30, fps: int = 30, key_every: int = 10) -> Path:
    """Write the synthetic moving rectangle as a video; the container follows from the file's name."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=fps)
        stream.width, stream.height = SIZE_WH
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.options = {"bf": "0", "g": str(key_every)} if codec != "mjpeg" else {}
        for index in range(frames):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(draw(index, SIZE_WH), format="bgr24")))
        container.mux(stream.encode())
    return path


def frame_spans(avi: bytes) -> list[slice]:
    """Where the bytes of each frame lie in an AVI file with one video stream."""
    position, spans = avi.index(b"movi") + 4, []
    while avi[position : position + 4] == b"00dc":
        (size,) = struct.unpack_from("<I", avi, position + 4)
        spans.append(slice(position + 8, position + 8 + size))
        position += 8 + size + size % 2
    return spans


def damage_frame(path: Path, index: int, filling: bytes = b"\x55") -> Path:
    """Overwrite one frame of an AVI file."""
    content = bytearray(path.read_bytes())
    span = frame_spans(bytes(content))[index]
    content[span] = filling * (span.stop - span.start)
    path.write_bytes(content)
    return path
