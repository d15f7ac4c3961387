"""What all sections of a configuration have in common: frozen, strict, unknown keys refused, secrets masked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from app.config.secrets import mask_field

Fraction: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Positive: TypeAlias = Annotated[float, Field(gt=0)]
Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=64)]


class Section(BaseModel):
    """What all sections have in common."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, mask_field(name or "", value)

    @model_serializer(mode="wrap")
    def _masked(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Dump without secrets: what is dumped ends in a log or a report."""
        return {name: mask_field(name, value) for name, value in handler(self).items()}
