"""The seam of the second look: what the pipeline asks for and gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from app.detections import Detections
from app.frame import AnyImage
from app.refine.region import Region

__all__ = ["Refined", "Region", "SecondLook"]


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
            max_regions: what the budget allows, 1 or more.

        Raises:
            BadOutput: the network's numbers can't be.
        """
        ...
