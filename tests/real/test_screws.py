"""Real photos of real parts: a phone, wood, changing light; the public screws set, which stays where it is."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.config import load, sections
from tests.conftest import ROOT
from tests.system.lines import CONFIGS, run

DEMO = ROOT.parent / "shared" / "demo"
MODELS = ["screws_320.onnx", "screws_640.onnx"]

pytestmark = pytest.mark.skipif(
    not (DEMO / "photos" / "test.json").exists(),
    reason=f"the screws photos are not at {Path('..') / 'shared' / 'demo'}",
)


@pytest.mark.parametrize("model", MODELS)
def test_all_34_held_out_photos_are_judged_right(model: str) -> None:
    truth = {
        photo["file"]: photo["verdict"] for photo in json.loads((DEMO / "photos" / "test.json").read_text())["photos"]
    }
    assert len(truth) == 34
    loaded = load(CONFIGS / "demo.yaml")
    camera = sections.Camera(
        source=sections.ImagesSource(kind="images", path=str(DEMO / "photos" / "test")),
        model="screws",
        judge=sections.Judge(
            rules=[sections.CountRule(count="screw", equals=4), sections.ForbidRule(forbid="hole")],
        ),
    )
    config = sections.Config(
        line="screws",
        cameras={"bench": camera},
        models={"screws": sections.Model(path=str(DEMO / "models" / model))},
        mqtt=None,
    )
    outcomes, product = run(replace(loaded, config=config))
    assert {outcome.label: outcome.judgement.verdict.value for outcome in outcomes} == truth
    assert product.ledger.counts("bench").judged == 34
