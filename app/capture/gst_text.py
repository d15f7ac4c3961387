"""What GStreamer is told for each preset: a pipeline as text, and the properties that a text should not hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from app.config.pipeline_text import elements, reads_file
from app.config.sections import GstreamerSource

CAMERA = "taktsight_camera"
"""Name of the element that gets the properties."""

NEWEST = "appsink max-buffers=1 drop=true sync=false"
EVERY = "appsink max-buffers=4 sync=false"
"""Ends of a pipeline: the newest picture wins; or the file waits until its pictures are wanted."""

# What nvvidconv, the Jetson's converter, can write; it has no BGR of three bytes.
_HARDWARE = {
    "nv12": "nvvidconv ! video/x-raw,format=NV12",
    "gray8": "nvvidconv ! video/x-raw,format=GRAY8",
    "bgr8": "nvvidconv ! video/x-raw,format=BGRx ! videoconvert ! video/x-raw,format=BGR",
}
_RAW = {"nv12": "NV12,colorimetry=bt601", "gray8": "GRAY8", "bgr8": "BGR"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pipeline.

    Attributes:
        text: as for gst-launch-1.0.
        properties: of the element `CAMERA`: names of files and addresses, which a text would have to quote.
    """

    text: str
    properties: dict[str, str] = field(default_factory=dict)


def wanted(section: GstreamerSource) -> Wanted:
    """Return the pipeline of a section, with an appsink at its end; user name and password are not in it."""
    rate = Fraction(section.fps).limit_denominator(1001)
    size = f"width={section.width},height={section.height},framerate={rate.numerator}/{rate.denominator}"
    hardware = _HARDWARE[section.pixel_format]
    match section.preset:
        case "csi":
            source = f"nvarguscamerasrc name={CAMERA} sensor-id={section.sensor} ! video/x-raw(memory:NVMM),{size}"
            return Wanted(f"{source} ! {hardware} ! {NEWEST}")
        case "rtsp-hw":
            source = f"rtspsrc name={CAMERA} latency=0 protocols=tcp ! rtp{section.codec}depay ! {section.codec}parse"
            text = f"{source} ! nvv4l2decoder enable-max-performance=true ! {hardware} ! {NEWEST}"
            return Wanted(text, {"location": section.url or ""})
        case "v4l2-hw":
            source = f"v4l2src name={CAMERA} io-mode=2 ! image/jpeg,{size} ! nvv4l2decoder mjpeg=true"
            return Wanted(f"{source} ! {hardware} ! {NEWEST}", {"device": section.device or ""})
        case "test":
            caps = f"video/x-raw,format={_RAW[section.pixel_format]},{size}"
            return Wanted(f"videotestsrc name={CAMERA} is-live=true pattern=ball ! {caps} ! {NEWEST}")
        case "own":
            return Wanted(_own(section.pipeline or ""))


def _own(text: str) -> str:
    """Return a pipeline of the user's as it is, with an end where it has none."""
    if any(element.name == "appsink" for element in elements(text)):
        return text
    return f"{text.rstrip().rstrip('!')} ! {EVERY if reads_file(text) else NEWEST}"
