"""A real RTSP server on loopback, run by the system's Python: prints its port, serves /h264 and /jpeg until killed."""

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402 - gi wants its versions first

SOURCE = "videotestsrc is-live=true ! video/x-raw,format=I420,width=160,height=120,framerate=30/1"
ENCODERS = {
    "/h264": "x264enc tune=zerolatency speed-preset=ultrafast key-int-max=15 ! rtph264pay name=pay0 pt=96",
    "/jpeg": "jpegenc ! rtpjpegpay name=pay0 pt=26",
}

Gst.init(None)
server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service("0")
for path, encoder in ENCODERS.items():
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(f"( {SOURCE} ! {encoder} )")
    factory.set_shared(True)
    server.get_mount_points().add_factory(path, factory)
server.attach(None)
print(server.get_bound_port(), flush=True)
GLib.MainLoop().run()
