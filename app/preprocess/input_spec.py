"""What a network wants to be fed: the one place that decides it, from the file, its family and the configuration."""

from __future__ import annotations

import ast
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from app.config.sections import Input
from app.errors import ModelError
from app.model import Family, ModelInfo, TensorSpec
from app.preprocess.resample import Asked

Layout: TypeAlias = Literal["nchw", "nhwc"]
Dtype: TypeAlias = Literal["float32", "float16", "uint8"]
Colour: TypeAlias = Literal["rgb", "bgr", "grey"]
Placement: TypeAlias = Literal["centre", "top_left"]

DTYPES = ("float32", "float16", "uint8")
DEFAULT_STRIDE = 32  # of every YOLO that does not say otherwise
LONGEST_SIDE_PX = 16384
LONGEST_TEXT = 64  # of a metadata value that is read as Python literals

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One network input, everything decided.

    Attributes:
        name: of the input tensor.
        width, height: in pixels.
        channels: 3, or 1 for grey.
        colour: order of the channels.
        scale: factor on 0…255 values.
        placement: where the letterbox puts the picture.
        pad_value: grey value of the padding, 0…255, before `scale`.
        batch: pictures at a time that the file is fixed to; 1 where it leaves that open.
        resize: how pictures are shrunk; see `resample.py`.
    """

    name: str
    width: int
    height: int
    layout: Layout = "nchw"
    dtype: Dtype = "float32"
    channels: int = 3
    colour: Colour = "rgb"
    scale: float = 1 / 255
    placement: Placement = "centre"
    pad_value: int = 114
    batch: int = 1
    resize: Asked = "auto"

    @property
    def network_wh(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.width, self.height

    @property
    def sample_shape(self) -> tuple[int, int, int]:
        """The shape of one sample, without the batch axis."""
        if self.layout == "nchw":
            return self.channels, self.height, self.width
        return self.height, self.width, self.channels

    @property
    def top_left(self) -> bool:
        """Whether the picture sits in the corner instead of the centre."""
        return self.placement == "top_left"


def input_spec(info: ModelInfo, section: Input, family: Family | None = None) -> InputSpec:
    """Decide what a model is fed.

    What the file fixes holds; the configuration settles what it leaves open or can't tell (colour, scale, placement),
    before what is usual for the family.

    Args:
        info: the model file.
        section: the configuration's `input`.
        family: the head, because YOLOX also has its own way with pictures; None where it is not known.

    Raises:
        ModelError: the model takes no single picture, or something can't be told: the text names the key to set.
    """
    tensor = _picture_input(info)
    where = f"{info.path.name}: input {tensor.name!r} {_written(tensor.shape)}"
    layout = section.layout or _layout(tensor.shape, where)
    batch, channels, height, width = _by_meaning(tensor.shape, layout)
    channels = channels or (1 if section.colour == "grey" else 3)
    _check_channels(channels, section.colour, where)
    yolox = family is Family.YOLOX
    height_px, width_px = _size_hw((height, width), section, info.metadata, where)
    return InputSpec(
        name=tensor.name,
        width=width_px,
        height=height_px,
        layout=layout,
        dtype=cast("Dtype", tensor.dtype),
        channels=channels,
        colour=section.colour or _usual_colour(channels, yolox=yolox),
        scale=_scale(tensor.dtype, section.scale, where, yolox=yolox),
        placement=section.placement or ("top_left" if yolox else "centre"),
        pad_value=section.pad_value,
        resize=section.resize,
        batch=batch or 1,
    )


def _picture_input(info: ModelInfo) -> TensorSpec:
    if len(info.inputs) != 1:
        names = ", ".join(tensor.name for tensor in info.inputs) or "none"
        raise ModelError(f"{info.path.name}: has {len(info.inputs)} inputs ({names}); export it with one, the picture")
    tensor = info.inputs[0]
    where = f"{info.path.name}: input {tensor.name!r}"
    if len(tensor.shape) != 4:  # noqa: PLR2004 - batch, colours, rows, columns
        raise ModelError(f"{where} has the shape {_written(tensor.shape)}; a batch of pictures has four axes")
    if tensor.dtype not in DTYPES:
        raise ModelError(f"{where} is {tensor.dtype}; pictures can be given as {', '.join(DTYPES)}: export it so")
    return tensor


def _written(shape: tuple[int | None, ...]) -> str:
    return "[" + ", ".join("open" if axis is None else str(axis) for axis in shape) + "]"


def _layout(shape: tuple[int | None, ...], where: str) -> Layout:
    second, last = shape[1] in (1, 3), shape[3] in (1, 3)
    if second == last:
        found = "two axes" if second else "no axis"
        raise ModelError(f"{where}: {found} could hold the 3 (or 1) colours; set input.layout to nchw or nhwc")
    return "nchw" if second else "nhwc"


def _by_meaning(shape: tuple[int | None, ...], layout: Layout) -> tuple[int | None, int | None, int | None, int | None]:
    """Return batch, channels, height, width."""
    if layout == "nchw":
        return shape[0], shape[1], shape[2], shape[3]
    return shape[0], shape[3], shape[1], shape[2]


def _check_channels(channels: int, colour: Colour | None, where: str) -> None:
    if channels not in (1, 3):
        raise ModelError(f"{where}: {channels} channels; pictures have 3, or 1 in grey: check input.layout")
    if colour is not None and (colour == "grey") != (channels == 1):
        raise ModelError(f"{where}: input.colour is {colour}, but the model takes {channels} channels; leave it out")


def _usual_colour(channels: int, *, yolox: bool) -> Colour:
    if channels == 1:
        return "grey"
    return "bgr" if yolox else "rgb"


def _scale(dtype: str, asked: float | None, where: str, *, yolox: bool) -> float:
    if dtype != "uint8":
        return asked or (1.0 if yolox else 1 / 255)
    if asked not in (None, 1.0):
        raise ModelError(f"{where}: a uint8 input gets 0…255 as they are; leave input.scale out")
    return 1.0


def _size_hw(
    fixed_hw: tuple[int | None, int | None], section: Input, metadata: Mapping[str, str], where: str
) -> tuple[int, int]:
    exported_hw = _imgsz_hw(metadata.get("imgsz", ""))
    stride = _stride(metadata)
    sides = []
    for key, fixed, exported in zip(("height", "width"), fixed_hw, exported_hw, strict=True):
        asked: int | None = getattr(section, key)
        if fixed is not None and asked not in (None, fixed):
            raise ModelError(f"{where}: input.{key} is {asked}, but the file is fixed to {fixed}; leave it out")
        sides.append(fixed or _open_side(key, asked or exported, stride, where))
    return sides[0], sides[1]


def _open_side(key: str, wanted: int | None, stride: int, where: str) -> int:
    """Round up to the stride what the configuration or the export wants for a side that the file leaves open."""
    if wanted is None:
        raise ModelError(f"{where}: the size is open and the file has no readable imgsz; set input.{key}")
    rounded = -(-wanted // stride) * stride
    if rounded != wanted:
        log.warning("%s: %s %d is rounded up to %d, a multiple of stride %d", where, key, wanted, rounded, stride)
    return rounded


def _stride(metadata: Mapping[str, str]) -> int:
    numbers = _whole_numbers(metadata.get("stride", ""))
    return max(numbers) if numbers else DEFAULT_STRIDE


def _imgsz_hw(text: str) -> tuple[int | None, int | None]:
    """Read "[480, 640]" (height, width) or "640"; (None, None) where it is neither."""
    match _whole_numbers(text):
        case (side,):
            return side, side
        case (height, width):
            return height, width
        case _:
            return None, None


def _whole_numbers(text: str) -> tuple[int, ...]:
    """Read one number or a list of them from a model's metadata, which nobody vouches for; () where it is neither."""
    if len(text) > LONGEST_TEXT:
        return ()
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ()
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    usable = all(type(number) is int and 0 < number <= LONGEST_SIDE_PX for number in values)
    return values if usable else ()
