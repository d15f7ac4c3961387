"""Cameras on this machine that show a time code: a folder that fills with files, an HTTP server, an RTSP server."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic_ns

import cv2
import numpy as np

from app.bench.timecode import paint
from app.config import sections
from app.errors import ConfigError
from app.frame import Image

SIZE_WH = (640, 480)
GREY = 96
KEPT_FILES = 50
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
"""Where files are that no disk makes wait; how long a camera's own disk takes is no matter of the product's."""
SYSTEM_PYTHON = "/usr/bin/python3"
"""The one that has GStreamer's bindings; they come from the system's packages."""
RTSP_SERVER = Path(__file__).with_name("rtsp_camera.py")


def painted() -> Image:
    """Return a picture that shows what time it is now."""
    image_hwc = np.full((SIZE_WH[1], SIZE_WH[0], 3), GREY, np.uint8)
    paint(image_hwc.data.cast("B"), SIZE_WH[0] * 3, 3, monotonic_ns())
    return image_hwc


def jpeg() -> bytes:
    """Return the same as a JPEG; its making is a part of the camera, and so of the age."""
    return cv2.imencode(".jpg", painted(), [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()


@contextmanager
def folder(fps: float) -> Iterator[sections.Source]:
    """Write a JPEG at each beat into a folder, under another name first, as a careful camera does."""
    with TemporaryDirectory(prefix="taktsight-glass-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as name:
        number = 0

        def write() -> None:
            nonlocal number
            number += 1
            complete = Path(name) / f"{number:06d}.jpg"
            partial = complete.with_suffix(".part")
            partial.write_bytes(jpeg())
            partial.rename(complete)
            (Path(name) / f"{number - KEPT_FILES:06d}.jpg").unlink(missing_ok=True)

        with _beating(fps, write):
            yield sections.ImagesSource(kind="images", path=name, watch=True)


@contextmanager
def http(fps: float) -> Iterator[sections.Source]:
    """Serve multipart JPEG, as network cameras do."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
            self.end_headers()
            with suppress(BrokenPipeError, ConnectionResetError):
                while not stopping.wait(1 / fps):
                    data = jpeg()
                    head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(data)}\r\n\r\n"
                    self.wfile.write(head.encode() + data + b"\r\n")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    stopping = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="painted-http")
    thread.start()
    try:
        yield sections.StreamSource(kind="stream", url=f"http://127.0.0.1:{server.server_address[1]}/")
    finally:
        stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def rtsp(fps: float, path: str, size_wh: tuple[int, int] = SIZE_WH) -> Iterator[sections.StreamSource]:
    """Run a real RTSP server in a process of the system's Python.

    Raises:
        ConfigError: it has not GStreamer's bindings.
    """
    command = [SYSTEM_PYTHON, str(RTSP_SERVER), str(fps), *map(str, size_wh)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:  # noqa: S603 - a file of ours
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            if not port:
                raise ConfigError(
                    f"{SYSTEM_PYTHON} has no GstRtspServer: apt install python3-gi gir1.2-gst-rtsp-server-1.0 "
                    "gstreamer1.0-plugins-ugly"
                )
            yield sections.StreamSource(kind="stream", url=f"rtsp://127.0.0.1:{port}{path}")
        finally:
            process.kill()


@contextmanager
def _beating(fps: float, work: Callable[[], None]) -> Iterator[None]:
    stopping = threading.Event()

    def beat() -> None:
        while not stopping.wait(1 / fps):
            work()

    thread = threading.Thread(target=beat, name="painted-folder")
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
