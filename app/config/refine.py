"""The section of the second look: where it looks again, how finely, how its finds join the first look's."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from app.config.section import Fraction, Name, Section


class Merge(Section):
    """How what several looks found becomes one set of boxes."""

    mode: Literal["best", "weighted"] = Field(
        "best", description="of boxes that are one object: the best one's, or the mean weighted by score"
    )
    iou: Fraction = Field(0.5, description="boxes of two looks that overlap more than this are one object")
    agnostic: bool = Field(False, description="also across classes")
    edge_px: Annotated[float, Field(ge=0)] = Field(
        8.0, description="a box nearer than this to its region's edge is cut off, in pixels of the picture"
    )


class Refine(Section):
    """The second look: parts of the picture are looked at again, larger."""

    mode: Literal["uncertain", "regions", "grid"] = Field(
        "uncertain",
        description="where: at what the first look doubts; there and in regions; on tiles over the picture",
    )
    model: Name | None = Field(None, description="a key of models; null: the camera's own")
    tile_width: Annotated[int, Field(ge=16)] = Field(640, description="pixels of the picture that one look takes in")
    tile_height: Annotated[int, Field(ge=16)] = Field(640, description="pixels of the picture that one look takes in")
    overlap: Annotated[float, Field(ge=0, le=0.9)] = Field(
        0.2, description="least share of a tile that the next one repeats; objects up to that size are seen whole"
    )
    margin_px: Annotated[float, Field(ge=0)] = Field(16.0, description="pixels of the picture around what is looked at")
    max_regions: Annotated[int, Field(ge=1)] = Field(
        4, description="looks for one picture at most; the budget may allow fewer"
    )
    uncertain: Annotated[list[Fraction], Field(min_length=2, max_length=2)] = Field(
        [0.1, 0.5], description="scores of the first look that are a doubt, from and below"
    )
    small_px: Annotated[float, Field(ge=0)] = Field(
        0.0, description="also look again at what is smaller than this along its longer side; 0: size does not matter"
    )
    regions: list[Name] = Field([], description="for mode regions, names in judge.regions; empty: all of them")
    within: Name | None = Field(
        None, description="for mode grid, a class: tiles cover its boxes only; null: the whole picture"
    )
    clear: Literal["uncertain", "all", "none"] = Field(
        "uncertain", description="what goes if the second look does not find it again: doubts, everything, nothing"
    )
    merge: Merge = Field(Merge())
    coarse_first: bool = Field(
        False, description="publish what the first look says at once, and override it after the second; without a gate"
    )

    required: bool = Field(
        False, description="a part with a region that there was no time to look at again is UNKNOWN and never OK"
    )

    @field_validator("uncertain")
    @classmethod
    def _range_rises(cls, uncertain: list[float]) -> list[float]:
        if uncertain[0] >= uncertain[1]:
            raise ValueError(f"must be [low, high] with low below high; got {uncertain}")
        return uncertain

    @property
    def tile_wh(self) -> tuple[int, int]:
        """What one look takes in, in pixels of the picture."""
        return self.tile_width, self.tile_height
