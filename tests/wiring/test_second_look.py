"""Which engine looks again, and what it is told of the picture."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest

from app.config import sections
from app.config.sections import Refine
from app.detections import Detections
from app.engine import Found, Look
from app.wiring.camera import build_second
from app.wiring.models import WiredModel
from app.wiring.second_look import build_refiner
from app.wiring.swap import Swap
from tests.system.lines import CONFIGS

NAMES = ("scratch",)


class Noting:
    """An engine that notes what it is asked, and finds nothing."""

    backend: AbstractContextManager[None] = nullcontext()
    most = 1

    def __init__(self) -> None:
        self.asked: list[Look] = []

    def label(self) -> str:
        return "noting"

    def look(self, looks: Sequence[Look]) -> list[Found]:
        self.asked += looks
        return [Detections.none(NAMES) for _ in looks]


@pytest.mark.parametrize(
    ("model", "asked", "again"),
    [
        (None, "first", True),  # the first look's own
        ("first", "first", True),  # the same by its name
        ("other", "other", False),  # which has not seen the frame
    ],
)
def test_only_the_engine_of_the_first_look_is_told_that_it_has_seen_the_picture(
    model: str | None, asked: str, again: bool
) -> None:
    engines = {"first": Noting(), "other": Noting()}
    refine = Refine(mode="grid", tile_width=80, tile_height=60, max_regions=2, model=model)
    camera = camera_of(refine)
    refiner = build_refiner(camera, {name: WiredModel(engine, NAMES, 1) for name, engine in engines.items()})
    second = build_second("camera", camera, refiner, engines, 0.4, Swap())
    assert second is not None
    second.run(np.zeros((120, 160, 3), np.uint8), Detections.none(NAMES), 2)
    noted = {name: [look.again for look in engine.asked] for name, engine in engines.items() if engine.asked}
    assert noted == {asked: [again, again]}


def camera_of(refine: Refine) -> sections.Camera:
    source = {"kind": "images", "path": str(CONFIGS)}
    return sections.Camera.model_validate({"source": source, "model": "first", "refine": refine})
