"""Which package brings what GStreamer does not find."""

from __future__ import annotations

import re

BINDINGS = "python3-gi gir1.2-gst-plugins-base-1.0"
JETPACK = "nvidia-l4t-gstreamer, which JetPack brings and only a Jetson has"

_PACKAGES = {
    re.compile(r"nv.*"): JETPACK,
    re.compile(r"avdec_.*|avenc_.*|avdemux_.*"): "gstreamer1.0-libav",
    re.compile(r"x264enc|mpeg2dec|a52dec"): "gstreamer1.0-plugins-ugly",
    re.compile(r".*parse|openh264.*|va.*|tsdemux|fakevideosink|rtmp.*|srt.*"): "gstreamer1.0-plugins-bad",
    re.compile(r"app(sink|src)|video(convert|scale|rate|testsrc).*|(uri)?decodebin3?|playbin3?|ogg.*|theora.*"): (
        "gstreamer1.0-plugins-base"
    ),
    re.compile(r"filesrc|queue|tee|capsfilter|identity|fakesink"): "libgstreamer1.0-0",
    re.compile(r"aravissrc"): "gstreamer1.0-aravis (or Aravis built by hand)",
}
_ELSE = "gstreamer1.0-plugins-good"  # v4l2src, rtspsrc, rtp…, jpegdec, qtdemux, matroskademux, multifilesrc, …


def package_of(element: str) -> str:
    """Return the Debian or JetPack package that has an element, as far as that is known."""
    return next((package for pattern, package in _PACKAGES.items() if pattern.fullmatch(element)), _ELSE)


def missing_element(text: str) -> str | None:
    """Return the element that an error of GStreamer's parser says there is none of, or None."""
    match = re.search(r'no element "([^"]+)"', text)
    return match[1] if match else None
