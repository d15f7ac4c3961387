"""What of a camera's pictures is refused, and when the camera itself is said to be at fault."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.config.section import Positive, Section


class Guard(Section):
    """Pictures that can't be judged: each check turns the verdict to UNKNOWN."""

    black: bool = Field(True, description="refuse pictures in which no pixel is brighter than black_level")
    black_level: Annotated[int, Field(ge=0, le=255)] = Field(12, description="grey value 0…255")
    overexposed: bool = Field(True, description="refuse pictures of which overexposed_share is overexposed_level or up")
    overexposed_level: Annotated[int, Field(ge=0, le=255)] = Field(250, description="grey value 0…255")
    overexposed_share: Annotated[float, Field(gt=0, le=1)] = Field(0.99, description="share of the picture")
    blank: bool | None = Field(
        None, description="refuse pictures of one even tone, as cameras give at their start; null: only of live sources"
    )
    blank_spread: Annotated[int, Field(ge=0, le=255)] = Field(
        3, description="grey values between the darkest and the brightest pixel that are still one tone"
    )
    torn: bool = Field(False, description="refuse pictures whose lowest torn_rows rows are one flat colour")
    torn_rows: Annotated[int, Field(ge=1)] = Field(16, description="a decoder fills up what is missing in such rows")
    sharpness: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description="refuse pictures less sharp than this; the reason tells what was measured; null: off",
    )
    frozen: bool | None = Field(None, description="refuse repeated identical pictures; null: only for live sources")
    frozen_after: Annotated[int, Field(ge=2)] = Field(5, description="identical pictures in a row that mean frozen")
    width: Annotated[int, Field(gt=0)] | None = Field(None, description="pixels that every picture must have")
    height: Annotated[int, Field(gt=0)] | None = Field(None, description="pixels that every picture must have")
    stamps: bool | None = Field(
        None, description="refuse pictures no newer than the one before, or over max_age_s old; null: only live sources"
    )
    max_age_s: Positive = Field(2.0, description="seconds from its time stamp to its arrival that a picture may have")
    warm_up: Annotated[int, Field(ge=0)] = Field(
        0, description="pictures after each opening that are not judged, while the camera finds its exposure"
    )
    triggered: bool = Field(
        False, description="a signal triggers the camera: long gaps are no fault, one repeated picture is"
    )
    stale_s: Positive | None = Field(
        None, description="seconds without a picture after which a live camera is stale; null: by its measured rate"
    )
    alarm_after: Annotated[int, Field(ge=1)] = Field(
        5, description="refused pictures in a row after which the camera's state says so"
    )
    clear_after: Annotated[int, Field(ge=1)] = Field(5, description="good pictures in a row that end such a state")
