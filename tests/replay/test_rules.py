"""Where the part lies in a still picture of a moving line."""

import numpy as np
import pytest

from app.config import sections
from app.detections import Detections
from app.engine import HostEngine
from app.replay.rules import Rules
from app.wiring.models import WiredModel

NAMES = ("part", "screw")
CAMERA = sections.Camera(
    source={"kind": "synthetic"},
    model="m",
    gate=sections.Gate(**{"class": "part"}, edge_px=8.0, margin_px=5.0),
    judge=sections.Judge(rules=[sections.CountRule(count="screw", min=1, region="part")]),
)


def found(*boxes):
    xyxy = np.asarray(boxes, np.float32).reshape(-1, 4)
    return Detections(xyxy, np.full(len(xyxy), 0.9, np.float32), np.zeros(len(xyxy), np.int64), NAMES)


@pytest.fixture
def rules():
    engine = HostEngine("m", None, None, {}, None, None)
    return Rules(CAMERA, {"m": WiredModel(engine, NAMES, 1)})


@pytest.mark.parametrize(
    ("boxes", "part", "region"),
    [
        (
            [(100, 50, 300, 200), (400, 50, 600, 200)],
            (405.0, 50.0, 600.0, 200.0),
            (395, 45, 605, 205),
        ),  # as it lay then
        ([(100, 50, 300, 200)], (405.0, 50.0, 600.0, 200.0), None),  # it is not seen any more
        ([(100, 50, 300, 200)], None, (95, 45, 305, 205)),  # nobody knows where it lay
        ([(2, 50, 300, 200), (400, 50, 600, 200)], None, (395, 45, 605, 205)),  # the first is cut off
        ([(0, 50, 300, 200), (450, 50, 639, 200)], None, None),  # both are
        ([(0, 50, 300, 200)], (0.0, 45.0, 305.0, 205.0), (0, 45, 305, 205)),  # it was judged so then
        ([], None, None),
    ],
)
def test_the_part_is_the_one_that_was_judged(boxes, part, region, rules):
    assert rules._region(found(*boxes), (640, 480), part) == region
