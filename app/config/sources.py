"""The kinds of source that pictures come from."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, field_validator, model_validator
from typing_extensions import Self

from app.config.address import check_stream_url
from app.config.pipeline_text import check_pipeline
from app.config.section import Positive, Section


class ImagesSource(Section):
    """Picture files: one file, or a folder read in natural order (img2 before img10)."""

    kind: Literal["images"]
    path: str = Field(description="a picture, or a folder of pictures (sub-folders are not read)")
    watch: bool = Field(False, description="go on waiting for new files in the folder")
    on_end: Literal["stop", "loop"] = Field("stop", description="what to do after the last picture")
    bit_depth: Annotated[int, Field(ge=8, le=16)] | None = Field(
        None, description="bits really used by 16-bit files, e.g. 12; without it a 16-bit file is UNKNOWN"
    )


class VideoSource(Section):
    """A video file, every frame of it."""

    kind: Literal["video"]
    path: str = Field(description="anything that FFmpeg reads")
    on_end: Literal["stop", "loop"] = Field("stop", description="what to do after the last frame")
    paced: bool = Field(False, description="give frames at the file's own rate instead of as fast as they are wanted")


class V4l2Source(Section):
    """A USB or other V4L2 camera."""

    kind: Literal["v4l2"]
    device: Annotated[int, Field(ge=0)] | Annotated[str, Field(min_length=1)] = Field(
        description="an index, /dev/videoN or, best, /dev/v4l/by-id/…"
    )
    width: Annotated[int, Field(gt=0)] = Field(1280, description="pixels asked of the driver")
    height: Annotated[int, Field(gt=0)] = Field(720, description="pixels asked of the driver")
    fps: Positive = Field(30.0, description="pictures a second asked of the driver")
    fourcc: Annotated[str, Field(min_length=4, max_length=4)] = Field("MJPG", description="pixel format asked first")
    buffers: Annotated[int, Field(ge=1, le=10)] = Field(
        1, description="pictures that the driver may keep; see `taktsight tune`"
    )
    pixel_format: Literal["bgr8", "native"] = Field(
        "bgr8", description="what is handed on: bgr8, or native: as the camera sends it (YUYV, NV12, GREY, Bayer)"
    )


class StreamSource(Section):
    """A network camera: rtsp://, rtsps://, http:// or https:// (multipart JPEG or any stream that FFmpeg reads)."""

    kind: Literal["stream"]
    url: str = Field(description="best without a password; see username and password_file")
    transport: Literal["tcp", "udp"] = Field("tcp", description="RTSP over TCP or UDP")
    username: str | None = Field(None, description="put into the URL when it is opened")
    password_file: str | None = Field(None, description="a file, or the name of a systemd credential")
    open_timeout_s: Positive = Field(5.0, description="seconds to connect")
    read_timeout_s: Positive = Field(1.0, description="seconds without a byte after which the stream is lost")
    buffer_bytes: Annotated[int, Field(ge=2048)] | None = Field(
        None, description="of the socket (not for RTSP over tcp); null: as the system has it; see `taktsight tune`"
    )
    jitter_buffer: Literal["auto", "off"] | Annotated[float, Field(gt=0)] = Field(
        "auto", description="milliseconds that pictures of a burst may wait for one another; auto: 0 on an even link"
    )

    @field_validator("url")
    @classmethod
    def _url_can_be_opened(cls, url: str) -> str:
        return check_stream_url(url)

    @model_validator(mode="after")
    def _password_has_a_user(self) -> Self:
        if self.password_file is not None and self.username is None:
            raise ValueError("password_file needs a username; add username")
        return self

    @model_validator(mode="after")
    def _buffer_can_be_sized(self) -> Self:
        if self.buffer_bytes is not None and self.transport == "tcp" and self.url.lower().startswith("rtsp"):
            raise ValueError("buffer_bytes has no effect on RTSP over tcp; remove it, or set transport: udp")
        return self


class GstreamerSource(Section):
    """A GStreamer pipeline: the Jetson's own way to its cameras and decoders, or any other."""

    kind: Literal["gstreamer"]
    preset: Literal["csi", "rtsp-hw", "v4l2-hw", "test", "own"] = Field(
        description="csi and -hw: with the Jetson's hardware; test: a made-up picture; own: see pipeline"
    )
    pipeline: str | None = Field(None, description="own: as for gst-launch-1.0, with its appsink or without")
    sensor: Annotated[int, Field(ge=0)] = Field(0, description="csi: number of the camera")
    url: str | None = Field(None, description="rtsp-hw: best without a password; see username and password_file")
    username: str | None = Field(None, description="rtsp-hw: of the camera")
    password_file: str | None = Field(None, description="rtsp-hw: a file, or the name of a systemd credential")
    codec: Literal["h264", "h265"] = Field("h264", description="rtsp-hw: what the camera sends")
    device: str | None = Field(None, description="v4l2-hw: /dev/videoN or, best, /dev/v4l/by-id/…")
    width: Annotated[int, Field(gt=0, multiple_of=2)] = Field(1920, description="csi, v4l2-hw, test: pixels")
    height: Annotated[int, Field(gt=0, multiple_of=2)] = Field(1080, description="csi, v4l2-hw, test: pixels")
    fps: Positive = Field(30.0, description="csi, v4l2-hw, test: pictures a second")
    pixel_format: Literal["nv12", "bgr8", "gray8"] = Field("nv12", description="of a preset: what is handed on")
    open_timeout_s: Positive = Field(5.0, description="seconds until the first picture")
    read_timeout_s: Positive = Field(1.0, description="seconds without a picture after which a camera is lost")

    @field_validator("pipeline")
    @classmethod
    def _pipeline_can_be_used(cls, pipeline: str | None) -> str | None:
        return None if pipeline is None else check_pipeline(pipeline)

    @field_validator("url")
    @classmethod
    def _url_can_be_opened(cls, url: str | None) -> str | None:
        if url is not None and not url.lower().startswith("rtsp"):
            raise ValueError("must begin with rtsp:// or rtsps://; http is kind: stream")
        return None if url is None else check_stream_url(url)

    @model_validator(mode="after")
    def _preset_has_what_it_needs(self) -> Self:
        needed = {"rtsp-hw": "url", "v4l2-hw": "device", "own": "pipeline"}
        for preset, key in needed.items():
            if (self.preset == preset) != (getattr(self, key) is not None):
                raise ValueError(f"preset {preset} needs {key}, and nothing else does")
        if self.password_file is not None and self.username is None:
            raise ValueError("password_file needs a username; add username")
        return self


class SyntheticSource(Section):
    """A generated picture with a bright rectangle that moves; needs no file."""

    kind: Literal["synthetic"]
    width: Annotated[int, Field(gt=0)] = Field(640, description="pixels")
    height: Annotated[int, Field(gt=0)] = Field(480, description="pixels")
    fps: Positive = Field(30.0, description="pictures a second")
    frames: Annotated[int, Field(ge=0)] = Field(0, description="how many pictures, 0 for no end")
    paced: bool = Field(True, description="wait between pictures as a camera would")


class ConveyorSource(Section):
    """A camera panned over a strip of tiles, one part a tile: a moving line of any length with known truth."""

    kind: Literal["conveyor"]
    path: str = Field(description="folder of tiles of one size, in natural order, that join left to right")
    belt_px_s: Positive = Field(1920.0, description="speed of the belt in pixels a second")
    fps: Positive = Field(30.0, description="pictures a second")
    parts: Annotated[int, Field(ge=0)] = Field(0, description="how many parts pass, 0 for no end; tiles are used again")
    paced: bool = Field(True, description="wait between pictures as a camera would")


Source: TypeAlias = Annotated[
    ImagesSource | VideoSource | V4l2Source | StreamSource | GstreamerSource | SyntheticSource | ConveyorSource,
    Field(discriminator="kind"),
]
