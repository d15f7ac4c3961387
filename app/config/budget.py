"""What a frame is allowed: the named budgets, and each stage's share of one."""

from __future__ import annotations

import math
from typing import Annotated, TypeAlias

from pydantic import Field, model_validator
from typing_extensions import Self

from app.config.section import Section

BUDGETS_MS = {"inspection": 100.0, "surveillance": 500.0}
"""The named budgets of a camera, milliseconds from the exposure to the broker's acknowledgement."""

Percent: TypeAlias = Annotated[float, Field(ge=0, le=100)]


def budget_ms(said: float | str) -> float:
    """Return the milliseconds of a budget that is a number or a name."""
    return BUDGETS_MS[said] if isinstance(said, str) else said


class Shares(Section):
    """How much of the budget each stage may take, in percent; with the reserve they make 100."""

    capture: Percent = Field(15.0, description="exposure to the hand-over: readout, transfer, decoding, guard")
    preprocess: Percent = Field(5.0, description="picture to network input")
    inference: Percent = Field(35.0, description="the engine")
    postprocess: Percent = Field(15.0, description="decode, second look, judge")
    network: Percent = Field(5.0, description="outbox to the broker's acknowledgement")
    presentation: Percent = Field(5.0, description="the broker's acknowledgement to a subscriber's")
    reserve: Percent = Field(20.0, description="held back for jitter and for waiting in a hand-off")

    @model_validator(mode="after")
    def _add_up(self) -> Self:
        parts = {name: getattr(self, name) for name in type(self).model_fields}
        total = sum(parts.values())
        if not math.isclose(total, 100, abs_tol=0.01):
            said = " + ".join(f"{name} {percent:g}" for name, percent in parts.items())
            remedy = f"take {total - 100:g} away" if total > 100 else f"add {100 - total:g}"  # noqa: PLR2004 - percent
            raise ValueError(f"the shares must make 100 %; {said} = {total:g}; {remedy}, best at reserve or inference")
        return self

    def stages_ms(self, budget: float) -> dict[str, float]:
        """Return what each of the six stages may take of a budget, in milliseconds."""
        return {name: budget * getattr(self, name) / 100 for name in type(self).model_fields if name != "reserve"}
