"""Parts looked at in one batch: the numbers of parts looked at one by one, in as few calls."""

import numpy as np
import pytest

from app.config.sections import Refine
from app.refine import Refiner
from tests.refine.covers_line import ROOT, parts
from tests.refine.network import Network, with_open_batch

MODEL = ROOT / "engines" / "covers_320.onnx"
TILES = Refine(mode="grid", tile_width=480, tile_height=480, max_regions=6)


@pytest.fixture(scope="module")
def alone():
    with Network(MODEL) as network:
        yield network


@pytest.fixture(scope="module")
def batched(tmp_path_factory):
    path = with_open_batch(MODEL, tmp_path_factory.mktemp("models") / "open.onnx")
    with Network(path, batches=[1, 2, 4, 8]) as network:
        yield network


def equal(a, b):
    assert np.array_equal(a.classes, b.classes)
    np.testing.assert_allclose(a.xyxy, b.xyxy, atol=1e-3)
    np.testing.assert_allclose(a.scores, b.scores, atol=1e-5)


def test_roi_08_tiles_in_one_batch_give_what_tiles_one_by_one_give(alone, batched):
    for _, image in parts()[:6]:
        seen = []
        for network in (alone, batched):
            coarse = network.look(image)
            seen.append(Refiner(TILES, network.names).run(image, coarse, network.look_at_all))
        assert seen[0].looked == seen[1].looked
        assert len(seen[0].detections) > 0
        equal(seen[0].detections, seen[1].detections)


def test_all_regions_of_a_picture_go_in_calls_of_prepared_sizes_without_an_empty_place(batched, monkeypatch):
    sizes = []
    infer = type(batched.engine.backend).infer

    def counted(self, feeds):
        sizes.append(len(next(iter(feeds.values()))))
        return infer(self, feeds)

    monkeypatch.setattr(type(batched.engine.backend), "infer", counted)
    _, image = parts()[0]
    refined = Refiner(TILES, batched.names).run(image, batched.look(image), batched.look_at_all)
    assert len(refined.looked) == 6
    assert sizes == [1, 4, 2]  # the first look; six tiles


@pytest.mark.parametrize(("looks", "calls"), [(3, [2, 1]), (5, [4, 1]), (9, [8, 1]), (12, [8, 4])])
def test_sizes_are_those_that_were_made_ready_whatever_the_number_of_regions(batched, monkeypatch, looks, calls):
    sizes = []
    infer = type(batched.engine.backend).infer

    def counted(self, feeds):
        sizes.append(len(next(iter(feeds.values()))))
        return infer(self, feeds)

    monkeypatch.setattr(type(batched.engine.backend), "infer", counted)
    _, image = parts()[0]
    batched.look_at_all([image[:300, :300]] * looks)
    assert sizes == calls
