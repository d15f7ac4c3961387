"""A sample of GStreamer as pixels, by the strides and offsets that come with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.capture.gst import Libraries
from app.capture.rows import Plane, take
from app.errors import SourceError
from app.frame import PixelFormat
from app.picture_memory import PictureMemory
from app.verdict import Code, Reason

FORMATS = {
    "NV12": PixelFormat.NV12,
    "YUY2": PixelFormat.YUYV,
    "BGR": PixelFormat.BGR8,
    "GRAY8": PixelFormat.GRAY8,
    "rggb": PixelFormat.BAYER_RGGB8,
    "grbg": PixelFormat.BAYER_GRBG8,
    "gbrg": PixelFormat.BAYER_GBRG8,
    "bggr": PixelFormat.BAYER_BGGR8,
    "rggb12le": PixelFormat.BAYER_RGGB12,
    "grbg12le": PixelFormat.BAYER_GRBG12,
    "gbrg12le": PixelFormat.BAYER_GBRG12,
    "bggr12le": PixelFormat.BAYER_BGGR12,
}
"""GStreamer's names of what can be handed on."""

_FULL = 1
"""GST_VIDEO_COLOR_RANGE_0_255, a name that Python can't write."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the caps of a stream say of its pictures.

    Attributes:
        planes: where they lie in a buffer that does not say otherwise itself.
        odd_colours: how colours differ from what is taken for granted, or an empty text.
    """

    pixels: PixelFormat
    size_wh: tuple[int, int]
    planes: tuple[Plane, ...]
    odd_colours: str = ""


def layout_of(caps: Any, libraries: Libraries) -> Layout:  # noqa: ANN401 - gi has no types
    """Read the caps of a stream.

    Raises:
        SourceError: pictures of this kind can't be handed on; the text names it and what to write.
    """
    structure, on_device = caps.get_structure(0), caps.get_features(0).contains("memory:NVMM")
    kind = structure.get_name() + "(memory:NVMM)" * on_device
    name = structure.get_string("format") or "without a format"
    if name not in FORMATS or on_device:
        raise SourceError(
            f"the pipeline gives {kind} {name}, which nobody reads; end it with a converter and video/x-raw,format=NV12"
        )
    pixels = FORMATS[name]
    size_wh = structure.get_value("width"), structure.get_value("height")
    if kind == "video/x-bayer":
        return Layout(pixels, size_wh, (Plane(0, -(-size_wh[0] // 4) * 4 * pixels.dtype.itemsize),))
    info = libraries.video.VideoInfo.new_from_caps(caps)
    planes = tuple(Plane(info.offset[index], info.stride[index]) for index in range(info.finfo.n_planes))
    return Layout(pixels, size_wh, planes, _odd_colours(pixels, info, libraries.video))


def _odd_colours(pixels: PixelFormat, info: Any, video: Any) -> str:  # noqa: ANN401 - gi has no types
    """Say where YUV is not BT.601 in video range; a matrix that is not told is taken for that."""
    colours = info.colorimetry
    usual = video.VideoColorMatrix.BT601, video.VideoColorMatrix.UNKNOWN
    is_yuv = pixels in (PixelFormat.NV12, PixelFormat.YUYV)
    return str(colours.to_string()) if is_yuv and (colours.matrix not in usual or colours.range == _FULL) else ""


def pixels_of(
    sample: Any,  # noqa: ANN401 - as above
    layout: Layout,
    libraries: Libraries,
    memory: PictureMemory,
) -> NDArray[Any] | Reason:
    """Return a sample's picture, copied to the memory that is given; or why it can't be judged."""
    gst, buffer = libraries.gst, sample.get_buffer()
    if buffer is None:
        return Reason(Code.UNREADABLE, "the sample holds no picture")
    if buffer.has_flags(gst.BufferFlags.CORRUPTED):
        return Reason(Code.TORN, "the decoder says that the picture is damaged")
    meta = libraries.video.buffer_get_video_meta(buffer)
    planes = layout.planes
    if meta is not None:
        planes = tuple(Plane(meta.offset[index], meta.stride[index]) for index in range(meta.n_planes))
    is_mapped, mapped = buffer.map(gst.MapFlags.READ)
    if not is_mapped:
        return Reason(Code.UNREADABLE, "the picture's memory can't be read; convert it to video/x-raw in system memory")
    try:
        data = bytes(mapped.data)  # a copy of its own already: the bindings make one, and bytes of bytes are the same
    finally:
        buffer.unmap(mapped)
    flat, owned = np.frombuffer(data, np.uint8), not memory.worth_a_copy
    return take(flat, layout.pixels, layout.size_wh, planes, owned=owned, memory=memory)
