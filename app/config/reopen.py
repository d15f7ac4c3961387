"""How a source that is lost, or that blocks, is tried again."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator
from typing_extensions import Self

from app.config.section import Fraction, Positive, Section


class Reopen(Section):
    """How long to wait before a lost source is opened again: doubled each time, up to max_s, with jitter."""

    first_s: Positive = Field(0.5, description="seconds before the first try")
    max_s: Positive = Field(10.0, description="seconds at most between tries")
    jitter: Fraction = Field(0.2, description="share of the pause that is random, so that cameras don't knock in step")
    stuck_s: Positive = Field(
        10.0, description="seconds over its own time-outs that opening or one read may block before it is given up"
    )
    stuck_threads: Annotated[int, Field(ge=1, le=8)] = Field(
        1, description="blocked threads at once from which on there is no new try until one is back"
    )

    @model_validator(mode="after")
    def _longest_is_not_below_first(self) -> Self:
        if self.max_s < self.first_s:
            raise ValueError(f"max_s must be first_s ({self.first_s}) or more; got {self.max_s}")
        return self
