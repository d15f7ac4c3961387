"""Network cameras for tests: one that does what its path says, a silent one, and a real RTSP server."""

import base64
import socket
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import cv2
import numpy as np

from app.capture.synthetic import draw

SIZE_WH = (160, 120)
FRAMES = 20
TORN = 10
USERNAME, PASSWORD = "inspector", "Geh3im!x"

SYSTEM_PYTHON = "/usr/bin/python3"  # the one that has GStreamer's bindings


def jpeg(index: int) -> bytes:
    """Picture `index` of the synthetic camera as a JPEG."""
    return cv2.imencode(".jpg", draw(index, SIZE_WH))[1].tobytes()


class FaultHandler(BaseHTTPRequestHandler):
    """Sends multipart JPEGs and then does what the path says.

    close: hang up; hang: send nothing more until the server stops; repeat: send one picture for ever; torn: cut
    picture 10; private: ask for a login first; missing: not found.
    """

    def do_GET(self):
        if "missing" in self.path:
            self.send_error(404)
            return
        if "private" in self.path and not self._is_known():
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="camera"')
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):
            self._stream()

    def _is_known(self) -> bool:
        login = base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()
        return self.headers.get("Authorization") == f"Basic {login}"

    def _stream(self):
        index = 0
        while index < FRAMES or "repeat" in self.path:
            data = jpeg(3 if "repeat" in self.path else index)
            if index == TORN and "torn" in self.path:
                data = data[: len(data) // 2]
            head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(data)}\r\n\r\n"
            self.wfile.write(head.encode() + data + b"\r\n")
            index += 1
            if self.server.stopping.wait(0.02):
                return
        if "hang" in self.path:
            self.server.stopping.wait()

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def fault_server() -> Iterator[str]:
    """Run the server; the URL to put a path behind."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), FaultHandler)
    server.stopping = threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="fault server")
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()


BITS = 16


def numbered(number: int) -> np.ndarray:
    """A picture that holds its number: one stripe for each bit, white for 1, on a grey ground."""
    image = np.full((SIZE_WH[1], SIZE_WH[0], 3), 60, np.uint8)
    for bit in range(BITS):
        image[:80, bit * 10 : bit * 10 + 10] = 255 * (number >> bit & 1)
    return image


def number_in(image: np.ndarray) -> int:
    """The number that a picture holds."""
    return sum((int(image[40, bit * 10 + 5].mean()) > 127) << bit for bit in range(BITS))


class CountingHandler(BaseHTTPRequestHandler):
    """Sends numbered pictures at the server's pace, and remembers when it sent which."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
        self.end_headers()
        began_ns = time.monotonic_ns()
        with suppress(BrokenPipeError, ConnectionResetError):
            for number, at_s in enumerate(self.server.times_s, start=1):
                if self.server.stopping.wait(max(0.0, at_s - (time.monotonic_ns() - began_ns) / 1e9)):
                    return
                data = cv2.imencode(".jpg", numbered(number))[1].tobytes()
                head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(data)}\r\n\r\n"
                self.server.sent_ns[number] = time.monotonic_ns()
                self.wfile.write(head.encode() + data + b"\r\n")

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def counting_server(times_s: Iterable[float]) -> Iterator[tuple[str, dict[int, int]]]:
    """Run a camera that sends picture after picture at these times; its URL, and when it sent which."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), CountingHandler)
    server.stopping, server.times_s, server.sent_ns = threading.Event(), times_s, {}
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="counting server")
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/", server.sent_ns
    finally:
        server.stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def silent_listener() -> Iterator[int]:
    """Accept connections and never answer; the port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@contextmanager
def rtsp_server() -> Iterator[tuple[str, subprocess.Popen]]:
    """Run a real RTSP server; the URL to put /h264 or /jpeg behind, and its process."""
    script = Path(__file__).with_name("rtsp_server.py")
    with subprocess.Popen([SYSTEM_PYTHON, str(script)], stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            assert line, f"{SYSTEM_PYTHON} has no GstRtspServer: apt install python3-gi gir1.2-gst-rtsp-server-1.0"
            yield f"rtsp://127.0.0.1:{int(line)}", process
        finally:
            process.kill()
