"""The section of a model's built engine: where it lies, and what happens where it doesn't fit."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.config.section import Section


class BuiltEngine(Section):
    """An engine that `taktsight engine build` made of the model, for machines that run it themselves."""

    path: str | None = Field(
        None, description="an .engine file, relative to the configuration file; null: beside the model, under its name"
    )
    unfit: Literal["refuse", "rebuild"] = Field(
        "refuse", description="one made for another machine, TensorRT or model: refuse it, or build it again (minutes)"
    )
    allow_unverified: bool = Field(False, description="use an engine that was never compared with its model")
