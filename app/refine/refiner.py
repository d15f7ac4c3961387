"""The second look at one camera's pictures: chooses regions, looks, merges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from app.config.sections import Refine
from app.config.sections import Region as Shape
from app.detections import Detections
from app.errors import ConfigError
from app.frame import AnyImage, crop, size_of
from app.refine.base import Refined
from app.refine.choose import choose
from app.refine.merge import merge, to_frame
from app.refine.pool import Look
from app.refine.region import Region

LookAt: TypeAlias = Callable[[Sequence[AnyImage]], Sequence[Detections]]
"""Runs a network on parts of one picture, views whose rows lie apart; what it finds is in each part's own pixels.

It gets all of them at once: a GPU takes them from one frame in one batch.
"""


class Refiner:
    """Looks again at the parts of a picture that are worth it; no state between pictures, no clock.

    Args:
        section: where, how finely, how much.
        names: the class names of the first look's model.
        shapes: the camera's named regions.
        second_names: the class names of the second look's model; None: the same model looks again. Its classes are
            told from the first one's by their names, and those that only it has come after them.

    Raises:
        ConfigError: the section names a class that the first model has not.
    """

    def __init__(
        self,
        section: Refine,
        names: tuple[str, ...],
        shapes: Mapping[str, Shape] | None = None,
        second_names: tuple[str, ...] | None = None,
    ) -> None:
        if section.within is not None and section.within not in names:
            raise ConfigError(f"refine.within: the model has no class {section.within!r}; it has {', '.join(names)}")
        self._section = section
        self._shapes = dict(shapes or {})
        second = names if second_names is None else second_names
        self.names = names + tuple(name for name in second if name not in names)
        """The class names of the result, by index."""
        self._class_of = np.array([self.names.index(name) for name in second], np.int64)
        self._translates = second != names

    @property
    def min_score(self) -> float:
        """The least score that the first look must give: from there on it is a doubt."""
        return self._section.uncertain[0]

    def run(self, image: AnyImage, coarse: Detections, look: LookAt, max_regions: int | None = None) -> Refined:
        """Look again at the most valuable regions and return what is known then.

        Args:
            image: the whole picture, in the camera's own format; `look` gets parts of it, nothing is copied.
            coarse: what the first look found, down to `min_score`.
            look: the network of the second look.
            max_regions: what the budget allows; None: as many as the section does. With 0 nothing changes.

        Raises:
            BadOutput: the network's numbers can't be.
        """
        size_wh = size_of(image)
        regions = choose(coarse, self._section, size_wh, self._shapes)
        most = self._section.max_regions if max_regions is None else min(max_regions, self._section.max_regions)
        looks = self._look_at(image, regions[:most], look) if regions[:most] else []
        known = set(self._class_of.tolist()) if self._translates else None
        detections = merge(coarse, looks, self._section, size_wh, known)
        unlooked = regions[most : self._section.max_regions]
        return Refined(replace(detections, names=self.names), regions[:most], regions[most:], unlooked)

    def _look_at(self, image: AnyImage, regions: Sequence[Region], look: LookAt) -> list[Look]:
        parts = [crop(image, region) for region in regions]
        found = [to_frame(one, region[:2]) for one, region in zip(look(parts), regions, strict=True)]
        return [
            Look(region, self._translated(one) if self._translates else one)
            for one, region in zip(found, regions, strict=True)
        ]

    def _translated(self, found: Detections) -> Detections:
        """Turn the second model's classes into those of the result; one without a name is nobody else's."""
        table, classes = self._class_of, found.classes
        last = np.append(table, 0)[np.minimum(classes, len(table))]
        return replace(found, classes=np.where(classes < len(table), last, len(self.names) + classes), names=self.names)
