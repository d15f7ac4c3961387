"""Small parts in pictures of 12 megapixels: two looks find what tiles find for a quarter of the work, on two of the set."""

import re
from types import SimpleNamespace

import pytest
import yaml

from app.config.sections import Refine
from tests.refine.big_picture import BATCHES, MIDDLE, TILES, TWICE, by_name, covers
from tests.refine.covers_line import ROOT
from tests.refine.network import Network, with_open_batch
from tests.refine.tally import together
from tests.refine.ways import measure


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What each way made of two scenes."""
    kind, truths = covers(), []
    middle = ROOT / "engines" / "covers_640.onnx"
    batched = with_open_batch(middle, tmp_path_factory.mktemp("models") / "open.onnx")
    with (
        Network(ROOT / "engines" / "covers_320.onnx") as small,
        Network(middle) as network,
        Network(batched, batches=[1, 2, 4, 8]) as batch,
    ):
        ways = by_name(kind.ways(small, network, batched=batch))
        measure([ways[name] for name in (MIDDLE, TILES, TWICE, BATCHES)], kind.pictures((0, 1), truths), rounds=1)
    return SimpleNamespace(ways=ways, truths=truths, tallied=lambda name: kind.tallied(ways[name], truths))


def test_the_page_shows_the_section_that_is_tested_here():
    examples = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "refine.md").read_text(), re.DOTALL)
    shown = [yaml.safe_load(example)["refine"] for example in examples if example.startswith("refine:")]
    assert [Refine(**section) for section in shown] == [covers().twice]


def test_two_looks_find_what_tiles_find(seen):
    twice, tiles = seen.tallied(TWICE), seen.tallied(TILES)
    assert together(twice).recall >= together(tiles).recall - 0.005
    for name, tally in twice.items():
        assert tally.recall >= tiles[name].recall - 0.005, name
        assert tally.precision >= tiles[name].precision, name


def test_two_looks_cost_a_quarter_of_the_tiles(seen):
    # Looks and not time, which says more about the neighbours of a test.
    assert seen.ways[TWICE].looks_each <= seen.ways[TILES].looks_each / 4


def test_two_looks_find_far_more_than_the_first_one_alone(seen):
    assert together(seen.tallied(TWICE)).recall >= together(seen.tallied(MIDDLE)).recall + 0.15


def test_holes_brass_screws_and_scratches_are_found_whatever_the_first_look_took_a_cover_for(seen):
    by_class = seen.tallied(TWICE)
    assert {name: by_class[name].recall for name in ("screw", "hole", "brass", "scratch")} == dict.fromkeys(
        ("screw", "hole", "brass", "scratch"), 1.0
    )
    # The first look's screw, as large as a cover, is gone.
    assert by_class["screw"].precision == 1.0


def test_in_batches_the_same_is_found(seen):
    assert seen.tallied(BATCHES) == seen.tallied(TWICE)
