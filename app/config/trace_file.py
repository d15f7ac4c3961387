"""The section of the trace file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.config.section import Fraction, Section


class TraceFile(Section):
    """A file with one JSON line for every outcome: where its time went."""

    path: str = Field(description="relative to the working folder; the file of the run before is kept as PATH.1")
    max_bytes: Annotated[int, Field(ge=65_536)] = Field(
        100_000_000, description="bytes; a full file becomes PATH.1, and a new one begins"
    )
    passed_over: Fraction = Field(
        0.0, description="share of the frames that the gate passed over to trace as well; outcomes always are"
    )
