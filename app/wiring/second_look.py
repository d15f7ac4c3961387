"""One camera's second look: which engine looks, and what the first one must not leave out for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.config import sections
from app.detections import Detections
from app.engine import Engine, Found, Look
from app.errors import BadOutput
from app.frame import AnyImage
from app.refine import Refined, Refiner
from app.wiring.models import WiredModel


@dataclass(frozen=True, slots=True)
class EngineLooks:
    """Looks again with an engine, on the inspect thread as all its calls.

    Attributes:
        refiner: chooses the regions and merges.
        engine: looks.
        min_score: what scores less is left out.
        is_same: the first look was by this engine, which may still have the frame.
    """

    refiner: Refiner
    engine: Engine
    min_score: float
    is_same: bool = False

    def run(self, image: AnyImage, coarse: Detections, max_regions: int) -> Refined:
        """Look again at the most valuable regions; see `SecondLook`."""
        return self.refiner.run(image, coarse, self._look, max_regions)

    def _look(self, parts: Sequence[AnyImage]) -> list[Detections]:
        looks = [Look(part, self.min_score, again=self.is_same) for part in parts]
        return [_sound(found) for found in self.engine.look(looks)]


def _sound(found: Found) -> Detections:
    if isinstance(found, BadOutput):
        raise found
    return found


def build_refiner(section: sections.Camera, models: Mapping[str, WiredModel]) -> Refiner | None:
    """Wire the choice of regions and the merging, where there is a second look."""
    if section.refine is None:
        return None
    second_names = None if section.refine.model is None else models[section.refine.model].names
    return Refiner(section.refine, models[section.model].names, section.judge.regions, second_names)
