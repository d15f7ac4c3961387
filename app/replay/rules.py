"""How one camera's still pictures are judged: the product's own steps after the engine, without a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from app.agreement import ious
from app.config import sections
from app.detections import Detections
from app.engine import Engine, Look
from app.errors import BadOutput
from app.frame import AnyImage, size_of
from app.judge import Judge
from app.latency.base import Level
from app.refine.base import doubts_of
from app.verdict import Code, Judgement, Reason, Verdict
from app.wiring.models import WiredModel
from app.wiring.second_look import EngineLooks, build_refiner

Box: TypeAlias = tuple[float, float, float, float]

_SAME_PART = 0.5
"""From this overlap on with where the part lay then, a box is that part."""


@dataclass(frozen=True, slots=True, eq=False)
class Again:
    """What is said of a picture now."""

    judgement: Judgement
    detections: Detections
    region: Box | None = None


class Rules:
    """One camera's way from a picture to a verdict.

    Args:
        camera: its section.
        models: wired, by their keys; entered already when `judge` is called.

    Raises:
        ConfigError: rules and models do not fit together.
    """

    def __init__(self, camera: sections.Camera, models: Mapping[str, WiredModel]) -> None:
        self._camera = camera
        refiner = build_refiner(camera, models)
        names = models[camera.model].names if refiner is None else refiner.names
        self._judge = Judge(camera.judge, names)
        least = self._judge.min_score()
        self._engine: Engine = models[camera.model].engine
        self._small = self._engine if camera.small_model is None else models[camera.small_model].engine
        self._min_score = least if refiner is None else min(least, refiner.min_score)
        self._second: EngineLooks | None = None
        self._is_required = camera.refine is not None and camera.refine.required
        if refiner is not None and camera.refine is not None:
            model = camera.refine.model or camera.model
            self._second = EngineLooks(refiner, models[model].engine, least, is_same=model == camera.model)

    @property
    def most_regions(self) -> int:
        """How many regions a second look may take when nothing is in a hurry."""
        return 0 if self._camera.refine is None else self._camera.refine.max_regions

    def look(self, image: AnyImage, level: str, max_regions: int) -> tuple[Detections, tuple[Reason, ...]]:
        """Return what takes part in the judgement, and why something may be there that does not.

        Args:
            image: whole, in the camera's own format.
            level: that the frame could afford.
            max_regions: of the second look.

        Raises:
            BadOutput: the network's numbers can't be.
        """
        engine = self._small if level == Level.SMALL_INPUT.value else self._engine
        found = engine.look([Look(image, self._min_score)])[0]
        if isinstance(found, BadOutput):
            raise found
        doubts: tuple[Reason, ...] = ()
        if self._second is not None and (max_regions or self._is_required):
            refined = self._second.run(image, found, max_regions)
            found, doubts = refined.detections, doubts_of(refined.unlooked) if self._is_required else ()
        return self._judge.considered(found), doubts

    def judge(self, image: AnyImage, level: str, max_regions: int, part: Box | None) -> Again:
        """Look at a picture and judge it; as `look`, and `part` is where a gate had found the part then."""
        try:
            found, doubts = self.look(image, level, max_regions)
        except BadOutput as error:
            return Again(Judgement(Verdict.UNKNOWN, (Reason(Code.BAD_OUTPUT, str(error)),)), Detections.none())
        region = self._region(found, size_of(image), part)
        return Again(self._judge.judge(found, size_of(image), region, doubts), found, region)

    def _region(self, found: Detections, size_wh: tuple[int, int], part: Box | None) -> Box | None:
        """Return the part's box now, with the gate's margin: the one that lies where it lay then.

        Where nobody knows where it lay, the best that is whole: of a part that is cut off no stream would be judged.
        """
        gate = self._camera.gate
        if gate is None:
            return None
        rows = [row for row in range(len(found)) if found.name(row) == gate.cls and np.isfinite(found.xyxy[row]).all()]
        if part is None:
            rows = [row for row in rows if _is_whole(found.xyxy[row].tolist(), gate, size_wh)]
        regions = [_with_margin(found.xyxy[row].tolist(), gate.margin_px, size_wh) for row in rows]
        if part is None or not regions:
            return regions[0] if regions else None
        overlaps = ious(_as_boxes([part]), _as_boxes(regions))[0]
        best = int(overlaps.argmax())
        return regions[best] if overlaps[best] >= _SAME_PART else None


def _is_whole(box: list[float], gate: sections.Gate, size_wh: tuple[int, int]) -> bool:
    """Whether neither end along the belt lies at the picture's edge, as the gate has it."""
    axis = 0 if gate.axis == "x" else 1
    return box[axis] >= gate.edge_px and box[axis + 2] <= size_wh[axis] - gate.edge_px


def _with_margin(box: list[float], margin: float, size_wh: tuple[int, int]) -> Box:
    (x1, y1, x2, y2), (width, height) = box, size_wh
    return max(x1 - margin, 0.0), max(y1 - margin, 0.0), min(x2 + margin, width), min(y2 + margin, height)


def _as_boxes(boxes: list[Box]) -> Detections:
    xyxy = np.asarray(boxes, np.float32).reshape(-1, 4)
    return Detections(xyxy, np.ones(len(xyxy), np.float32), np.zeros(len(xyxy), np.int64), ("part",))
