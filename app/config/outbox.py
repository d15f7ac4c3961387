"""Where results wait until the broker has them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.config.section import Positive, Section

AUTO, MEMORY = "auto", "memory"


class Outbox(Section):
    """Where results wait until the broker has them, and for how long."""

    path: Annotated[str, Field(min_length=1)] = Field(
        AUTO, description="a file; auto: in the service's state directory, in memory where there is none; memory"
    )
    sync: Literal["full", "normal", "off"] = Field(
        "normal",
        description="fsync: full for each result, normal once a second, off never; what a power cut may cost",
    )
    max_messages: Annotated[int, Field(ge=100)] = Field(200_000, description="kept on disk; the oldest OK go first")
    max_bytes: Annotated[int, Field(ge=1 << 20)] = Field(
        268_435_456, description="kept on disk; the oldest OK go first"
    )
    max_age_s: Positive = Field(604_800.0, description="seconds after which what still waits is dropped and counted")
    expiry_s: Positive | None = Field(
        60.0, description="seconds for which a result is live; then it goes to …/history; null: for ever"
    )
