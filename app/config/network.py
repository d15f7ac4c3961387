"""How a network is fed, and how what it gives is read, where its file does not tell."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.config.section import Fraction, Name, Positive, Section


class Input(Section):
    """The network's input, where its file does not tell; null: as the file or its family says."""

    width: Annotated[int, Field(gt=0)] | None = Field(None, description="pixels, for models with an open size")
    height: Annotated[int, Field(gt=0)] | None = Field(None, description="pixels, for models with an open size")
    layout: Literal["nchw", "nhwc"] | None = Field(None, description="order of the axes")
    colour: Literal["rgb", "bgr", "grey"] | None = Field(None, description="order of the channels")
    scale: Positive | None = Field(None, description="factor on 0…255 values; 0.00392156862745098 is /255")
    placement: Literal["centre", "top_left"] | None = Field(None, description="where the letterbox puts the picture")
    pad_value: Annotated[int, Field(ge=0, le=255)] = Field(114, description="grey value of the padding")
    resize: Literal["auto", "linear", "area"] = Field(
        "auto", description="linear, area, or auto: linear, from 4 picture pixels per network pixel on area"
    )


class Decode(Section):
    """How the network's output is read, where its file does not tell."""

    family: (
        Literal[
            "yolov5", "yolov8", "end_to_end", "yolov7_rows", "yolox", "nms_in_graph", "two_outputs", "segment", "obb"
        ]
        | None
    ) = Field(None, description="the head's layout; null: from the file, refused if that is ambiguous")
    normalised: bool = Field(False, description="coordinates are 0…1 of the input instead of pixels")


class Nms(Section):
    """Non-maximum suppression."""

    iou: Fraction = Field(0.5, description="boxes that overlap more than this are one object")
    agnostic: bool = Field(False, description="also across classes")
    groups: list[list[Name]] = Field([], description="classes that suppress one another, e.g. [[screw, brass, hole]]")
    max_candidates: Annotated[int, Field(ge=1)] = Field(2000, description="best candidates looked at")
    max_boxes: Annotated[int, Field(ge=1)] = Field(300, description="boxes kept")
