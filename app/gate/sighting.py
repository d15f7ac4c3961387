"""One box seen along the belt's axis, whole or cut off by the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Box: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Sighting:
    """One box along the belt.

    Attributes:
        low_px, high_px: its two ends, clipped to the picture.
        whole: neither end is cut off by the picture.
        xyxy: the box in the picture.
    """

    low_px: float
    high_px: float
    cut_low: bool
    cut_high: bool
    xyxy: Box

    @property
    def whole(self) -> bool:
        """Whether the whole part is in the picture."""
        return not (self.cut_low or self.cut_high)

    @property
    def length_px(self) -> float:
        """What is seen of it along the belt."""
        return self.high_px - self.low_px

    def centre_px(self, part_px: float) -> float:
        """Return where the part's centre lies, by the end that is not cut off and the length of a whole part."""
        if self.cut_low and not self.cut_high:
            return self.high_px - part_px / 2
        if self.cut_high and not self.cut_low:
            return self.low_px + part_px / 2
        return (self.low_px + self.high_px) / 2
