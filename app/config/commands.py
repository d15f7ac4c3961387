"""The section of what may be asked of a running line over MQTT."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from app.config.section import Section

Word: TypeAlias = Literal["pause", "resume", "snapshot", "trigger", "reload", "set_threshold", "set_model"]


class Commands(Section):
    """Commands that are taken from `<root>/<line>/cmd/<command>`; who may publish there is the broker's to say."""

    allow: Annotated[list[Word], Field(min_length=1)] = Field(description="which; all others are refused")
    per_minute: Annotated[int, Field(ge=1, le=6000)] = Field(60, description="more are refused")
