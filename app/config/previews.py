"""The section of the small pictures for people who watch."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.config.section import Positive, Section


class Previews(Section):
    """Small pictures with the verdict drawn on, for whoever asks for them over MQTT."""

    max_side_px: Annotated[int, Field(ge=64, le=1920)] = Field(
        480, description="pixels of the longer side; smaller pictures stay as they are"
    )
    quality: Annotated[int, Field(ge=1, le=100)] = Field(70, description="JPEG quality")
    max_fps: Positive = Field(10.0, description="pictures a second for one watcher, at most")
    max_watchers: Annotated[int, Field(ge=1, le=64)] = Field(8, description="of one camera at one time")
