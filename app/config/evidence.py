"""The sections of the pictures that are kept: evidence of single parts, and a sample for calibration."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.config.section import Fraction, Positive, Section

Bytes = Annotated[int, Field(ge=65_536)]


class Evidence(Section):
    """Pictures of parts that somebody may ask about, with all that is needed to judge them again."""

    path: str = Field(description="folder of this service alone; relative to the working folder")
    verdicts: list[Literal["OK", "NG", "UNKNOWN"]] = Field(["NG", "UNKNOWN"], description="which verdicts are kept")
    borderline: Fraction = Field(
        0.05, description="also parts with a score so near a threshold of the rules, on either side; 0: none"
    )
    late: bool = Field(True, description="also parts whose verdict came late")
    original: Literal["png", "raw"] = Field(
        "png", description="how BGR and grey pixels are kept, both lossless: smaller, or with less work"
    )
    view: bool = Field(True, description="a JPEG beside it with the verdict drawn on, for people")
    quality: Annotated[int, Field(ge=1, le=100)] = Field(90, description="of that JPEG")
    max_per_s: Positive = Field(5.0, description="pictures of one camera a second, at most")
    max_bytes: Bytes = Field(10_737_418_240, description="of all files; the oldest go first, OK before all others")
    max_days: Positive = Field(90.0, description="days after which a picture goes")
    max_files: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        20_000, description="pictures kept; the oldest go first"
    )
    min_free_bytes: Annotated[int, Field(ge=0)] = Field(
        268_435_456, description="room that is left on the disk for all else; with less nothing is saved"
    )
    sync: bool = Field(
        True, description="fsync each picture before it counts as kept, so that a loss of power leaves it whole"
    )
    max_waiting_bytes: Bytes = Field(67_108_864, description="pixels that wait in memory to be written, of both kinds")


class Collect(Section):
    """A sample of the line's pictures, spread over time: what an INT8 engine is calibrated with."""

    path: str = Field(description="folder of this service alone, with one folder for each camera in it")
    verdicts: list[Literal["OK", "NG", "UNKNOWN"]] = Field(["OK", "NG"], description="which verdicts are taken from")
    every_s: Positive = Field(60.0, description="seconds between two pictures of a camera, at least")
    max_bytes: Bytes = Field(2_147_483_648, description="of all files; then those go that lie closest in time")
    max_files: Annotated[int, Field(ge=3, le=100_000)] = Field(2_000, description="pictures kept")
    min_free_bytes: Annotated[int, Field(ge=0)] = Field(
        268_435_456, description="room that is left on the disk for all else; with less nothing is saved"
    )
