"""An RTSP camera on loopback that shows a time code; run by the Python that has GStreamer, prints its port.

Usage: rtsp_camera.py FPS WIDTH HEIGHT; serves /h264 and /jpeg until killed. Needs neither NumPy nor this package's
other dependencies.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic_ns
from typing import Any

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402 - gi wants its versions first

sys.path.insert(0, str(Path(__file__).resolve().parent))
from timecode import paint  # type: ignore[import-not-found]  # noqa: E402 - beside this file, without the package

ENCODERS = {
    "/h264": "x264enc tune=zerolatency speed-preset=ultrafast key-int-max=15 bitrate=4000 ! rtph264pay name=pay0 pt=96",
    "/jpeg": "jpegenc quality=90 ! rtpjpegpay name=pay0 pt=26",
}
NEUTRAL = 128


def main(fps: float, width: int, height: int) -> None:
    """Serve until killed."""
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service("0")
    for path, encoder in ENCODERS.items():
        caps = f"video/x-raw,format=I420,width={width},height={height},framerate={round(fps * 1000)}/1000"
        source = f"appsrc name=source is-live=true do-timestamp=true format=time caps={caps}"
        factory = GstRtspServer.RTSPMediaFactory()
        factory.set_launch(f"( {source} ! {encoder} )")
        factory.set_shared(True)
        factory.connect("media-configure", lambda _, media: _feed(media, fps, width, height))
        server.get_mount_points().add_factory(path, factory)
    server.attach(None)
    print(server.get_bound_port(), flush=True)  # what the parent process waits for
    GLib.MainLoop().run()


def _feed(media: Any, fps: float, width: int, height: int) -> None:  # noqa: ANN401 - gi has no types
    source = media.get_element().get_by_name_recurse_up("source")

    def push() -> bool:
        picture = bytearray([NEUTRAL]) * (width * height * 3 // 2)
        paint(memoryview(picture), width, 1, monotonic_ns())
        return bool(source.emit("push-buffer", Gst.Buffer.new_wrapped(bytes(picture))) == Gst.FlowReturn.OK)

    GLib.timeout_add(round(1000 / fps), push)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
