"""The seam of the second look: what the pipeline asks for and gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from app.detections import Detections
from app.frame import AnyImage
from app.refine.region import Region
from app.verdict import Code, Reason

__all__ = ["Refined", "Region", "SecondLook", "doubts_of"]

_NAMED = 4


@dataclass(frozen=True, slots=True, eq=False)
class Refined:
    """What is known after the second look.

    Attributes:
        detections: of both looks, in pixels of the picture.
        looked: the regions that were looked at again, in that order.
        skipped: those that would have been worth it, for which there was no room.
        unlooked: of the skipped, those that only time was missing for.
    """

    detections: Detections
    looked: tuple[Region, ...] = ()
    skipped: tuple[Region, ...] = ()
    unlooked: tuple[Region, ...] = ()


class SecondLook(Protocol):
    """Looks again at parts of one camera's pictures, with an engine of its own or the first look's."""

    def run(self, image: AnyImage, coarse: Detections, max_regions: int) -> Refined:
        """Look again at the most valuable regions and return what is known then.

        Args:
            image: the whole picture, in the camera's own format; not copied.
            coarse: what the first look found; with what scores too little to be judged, because that is a doubt.
            max_regions: what the budget allows; with 0 nothing is looked at, and `unlooked` says what would have been.

        Raises:
            BadOutput: the network's numbers can't be.
        """
        ...


def doubts_of(unlooked: Sequence[Region]) -> tuple[Reason, ...]:
    """Return why a picture can't be OK of which some regions must be looked at again, and were not."""
    if not unlooked:
        return ()
    places = ", ".join(f"{left},{top} to {right},{bottom}" for left, top, right, bottom in unlooked[:_NAMED])
    more = f" and {len(unlooked) - _NAMED} more" if len(unlooked) > _NAMED else ""
    return (Reason(Code.UNLOOKED, f"no time for the second look, which is required, at {places}{more}"),)
