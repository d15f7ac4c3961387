"""A network's outputs to detections in the picture: the head, suppression, the way back, the picture's edge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.boxes import enclosing
from app.config.sections import Nms
from app.decode.base import Candidates, Head
from app.decode.groups import read_groups
from app.decode.nms import Kept, best_first, nms
from app.decode.rotated import rotated_nms
from app.detections import Detections
from app.letterbox import Letterbox, clip


class Decoder:
    """Decodes the outputs of one network; no state between calls.

    Args:
        head: reads the network's family.
        section: how boxes that overlap are suppressed.
        names: the class names by index.
        classes: how many classes the network has; those without a name become `class_17`. 0 where nobody knows.

    Raises:
        ConfigError: a group names a class that the network has not.
    """

    def __init__(self, head: Head, section: Nms, names: tuple[str, ...], classes: int = 0) -> None:
        self._head = head
        self._nms = section
        self._names = names + tuple(f"class_{index}" for index in range(len(names), classes))
        self._groups = read_groups(section, self._names)
        self._crosses = section.agnostic or bool(section.groups)

    @property
    def names(self) -> tuple[str, ...]:
        """The class names, with stand-ins for those the file does not name."""
        return self._names

    def run(
        self, outputs: Mapping[str, NDArray[Any]], letterbox: Letterbox, min_score: float, sample: int = 0
    ) -> Detections:
        """Return what one sample of the batch shows, best first, in pixels of the picture.

        Args:
            outputs: the network's tensors by name; borrowed, nothing of them is kept.
            letterbox: how the picture was placed.
            min_score: boxes under it are left out.
            sample: which row of the batch.

        Raises:
            BadOutput: the numbers can't be what the family promises.
        """
        return self.settle(self._head.candidates(outputs, min_score, sample), letterbox)

    def settle(self, found: Candidates, letterbox: Letterbox) -> Detections:
        """Return what is left of candidates after suppression, best first, in pixels of the picture.

        The second half of `run`, for candidates that a GPU found.
        """
        kept = self._suppress(found)
        xyxy = letterbox.to_image(found.xyxy[kept.rows])
        angles = None if found.angles_rad is None else found.angles_rad[kept.rows]
        boxes = Detections(
            xyxy,
            found.scores[kept.rows],
            found.classes[kept.rows],
            self._names,
            angles,
            truncated=kept.truncated,
            saturated=kept.saturated or found.saturated,
        )
        return _inside(boxes, letterbox.image_wh)

    def _suppress(self, found: Candidates) -> Kept:
        section = self._nms
        if found.final and not self._crosses:
            rows = best_first(found.scores, section.max_boxes)
            return Kept(rows, truncated=False, saturated=len(found.scores) > section.max_boxes)
        groups = self._groups.of(found.classes)
        if found.angles_rad is None:
            return nms(found.xyxy, found.scores, groups, section)
        return rotated_nms(found.xyxy, found.angles_rad, found.scores, groups, section)


def _inside(boxes: Detections, image_wh: tuple[int, int]) -> Detections:
    """Cut boxes off at the picture's edge; drop and count those of which nothing is left.

    Rotated boxes are dropped by their corners and not cut off: cutting would move their centre.
    """
    around = boxes.xyxy if boxes.angles_rad is None else enclosing(boxes.corners())
    clipped, kept = clip(around, image_wh)
    xyxy = clipped if boxes.angles_rad is None else boxes.xyxy
    dropped = len(boxes) - int(np.count_nonzero(kept))
    return replace(boxes, xyxy=xyxy, dropped_outside=dropped).where(kept)
