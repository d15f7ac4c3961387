"""Open axes of a network's input, filled in."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import ModelError
from app.model import TensorSpec

PICTURE_AXES = 4


def fixed(axis: object) -> int | None:
    """Return an axis as a number, or None where it is open: None, a name such as "batch", or -1."""
    return axis if isinstance(axis, int) and axis >= 0 else None


def channels_last(shape: Sequence[int | None]) -> bool:
    """Tell whether a picture tensor of four axes keeps its channels last: 1 or 3 there, and not on the second axis."""
    return len(shape) == PICTURE_AXES and shape[3] in (1, 3) and shape[1] not in (1, 3)


def resolve(
    shape: Sequence[int | str | None],
    *,
    batch: int = 1,
    height: int | None = None,
    width: int | None = None,
    channels: int = 3,
    nhwc: bool | None = None,
) -> tuple[int | None, ...]:
    """Fill the open axes of an input; those that the arguments don't tell stay None.

    Args:
        shape: as a file or an engine gives it: numbers, None, -1, or names.
        batch: for the first axis.
        height: of the network's input in pixels.
        width: of the network's input in pixels.
        channels: where that axis is open.
        nhwc: channels last; None for "where the 3 or the 1 is".
    """
    axes = [fixed(axis) for axis in shape]
    last = channels_last(axes) if nhwc is None else nhwc
    picture = (batch, height, width, channels) if last else (batch, channels, height, width)
    known: Sequence[int | None] = picture if len(axes) == PICTURE_AXES else (batch,)
    return tuple(known[index] if axis is None and index < len(known) else axis for index, axis in enumerate(axes))


def known_shape(spec: TensorSpec) -> tuple[int, ...]:
    """Return the shape of a tensor that has no open axis."""
    assert None not in spec.shape, spec
    return tuple(axis for axis in spec.shape if axis is not None)


def resolve_inputs(
    inputs: Sequence[TensorSpec],
    input_wh: tuple[int, int] | None,
    *,
    channels: int,
    nhwc: bool | None,
    batch: int = 1,
) -> tuple[TensorSpec, ...]:
    """Resolve every input of a model; `batch` is for those that leave it open.

    Raises:
        ModelError: an axis stays open, or the file fixes a size other than `input_wh`.
    """
    width, height = input_wh or (None, None)
    return tuple(_resolve_one(spec, height, width, channels=channels, nhwc=nhwc, batch=batch) for spec in inputs)


def _resolve_one(
    spec: TensorSpec, height: int | None, width: int | None, *, channels: int, nhwc: bool | None, batch: int
) -> TensorSpec:
    last = channels_last(spec.shape) if nhwc is None else nhwc
    shape = resolve(spec.shape, batch=batch, height=height, width=width, channels=channels, nhwc=last)
    if None in shape:
        raise ModelError(f"input {spec.name!r} of shape {_said(spec)} leaves its size open: set input.width and height")
    if len(shape) == PICTURE_AXES and height is not None:
        found = shape[1:3] if last else shape[2:4]
        if found != (height, width):
            raise ModelError(
                f"input {spec.name!r} of shape {_said(spec)} can't take pictures of {width} × {height} pixels"
            )
    return TensorSpec(spec.name, shape, spec.dtype)


def _said(spec: TensorSpec) -> str:
    return "[" + ", ".join("?" if axis is None else str(axis) for axis in spec.shape) + "]"
