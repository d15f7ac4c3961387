"""What the builder's process is asked, and what it says, as JSON of one line each."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from app.inference.engine_file import Range
from app.model import TensorSpec


class Request(msgspec.Struct, frozen=True):
    """One plan to be built.

    Attributes:
        module: TensorRT's name, as it is to be imported.
        onnx, plan: files; the second is written.
        flags: names of builder flags.
        strongly_typed: tensors keep the types that the ONNX gives them.
        ranges: of each input, one for each optimisation profile.
        workspace_bytes: of device memory that one layer may take.
        level: how long to look for faster kernels; None: the builder's default.
        cache_in, cache_out: the timing cache, before and after; "" for none.
    """

    module: str
    onnx: str
    plan: str
    flags: tuple[str, ...]
    strongly_typed: bool
    ranges: dict[str, tuple[Range, ...]]
    workspace_bytes: int
    level: int | None = None
    cache_in: str = ""
    cache_out: str = ""


class PhaseStarted(msgspec.Struct, frozen=True, tag="start"):
    """The builder began a phase, inside another or as the outermost ("")."""

    name: str
    parent: str
    steps: int


class StepDone(msgspec.Struct, frozen=True, tag="step"):
    """The builder finished a step of a phase, counted from 0."""

    name: str
    step: int


class PhaseFinished(msgspec.Struct, frozen=True, tag="finish"):
    """The builder left a phase."""

    name: str


class Said(msgspec.Struct, frozen=True, tag="said"):
    """The builder said something that a person should read."""

    text: str
    is_error: bool = False


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """There will be no plan, for a reason of one line."""

    text: str


class Built(msgspec.Struct, frozen=True, tag="built"):
    """The plan is written.

    Attributes:
        inputs: dtypes by name.
        outputs: open axes are None.
        level: that the builder used.
        cache_used: whether the timing cache of earlier builds fitted.
    """

    inputs: dict[str, str]
    outputs: tuple[TensorSpec, ...]
    level: int | None = None
    cache_used: bool = False


Report: TypeAlias = PhaseStarted | StepDone | PhaseFinished | Said | Refused | Built

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Report).decode
