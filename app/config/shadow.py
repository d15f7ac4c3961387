"""The section of a model that is tried on a running line without a say in it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.config.section import Name, Section


class Shadow(Section):
    """A candidate that looks at a share of the pictures when there is time to spare; its verdict counts nothing."""

    model: Name = Field(description="a key of models: the candidate; it has to know the classes that the rules name")
    share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.1, description="of the pictures that the line's model judged; fewer where there is no time to spare"
    )
