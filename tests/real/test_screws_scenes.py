"""Photos of real screws in pictures of 12 megapixels: two looks beside tiles; the photos stay where they are."""

import pytest

from tests.conftest import ROOT
from tests.refine.big_picture import MIDDLE, TILES, TWICE, by_name
from tests.refine.network import Network
from tests.refine.screws import screws
from tests.refine.tally import together
from tests.refine.ways import measure

DEMO = ROOT.parent / "shared" / "demo"
TRUTH = DEMO / "photos" / "test.json"

pytestmark = pytest.mark.skipif(
    not TRUTH.exists(),
    reason=f"the screws photos are not at {DEMO}",
)


def test_two_looks_find_what_tiles_find_for_a_quarter_of_their_looks_and_far_more_than_one() -> None:
    kind, truths = screws(TRUTH), []
    models = DEMO / "models"
    with Network(models / "screws_320.onnx") as small, Network(models / "screws_640.onnx") as network:
        ways = by_name(kind.ways(small, network))
        measure([ways[name] for name in (MIDDLE, TILES, TWICE)], kind.pictures((0, 1), truths), rounds=1)
    recall = {name: together(kind.tallied(ways[name], truths)).recall for name in (MIDDLE, TILES, TWICE)}
    assert recall[TWICE] >= recall[TILES] - 0.005
    assert recall[TWICE] >= recall[MIDDLE] + 0.15
    assert ways[TWICE].looks_each <= ways[TILES].looks_each / 4
