"""Several pictures in one call: the same is found in each as by itself, and a fault in one stays in one."""

import threading
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest

from app.config import sections
from app.engine import Look
from app.errors import BadOutput, ModelError
from app.preprocess.helpers import Helpers
from app.trace import Trace
from app.wiring.models import build_model
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def open_model(tmp_path_factory) -> Path:
    """The small covers model with its batch axis open: the same network, its axis renamed."""
    model = onnx.load(ROOT / "engines" / "covers_320.onnx")
    for tensor in (*model.graph.input, *model.graph.output):
        tensor.type.tensor_type.shape.dim[0].ClearField("dim_value")
        tensor.type.tensor_type.shape.dim[0].dim_param = "batch"
    path = tmp_path_factory.mktemp("model") / "open.onnx"
    onnx.save(model, path)
    return path


@pytest.fixture(scope="module")
def pictures():
    return [cv2.imread(str(path)) for path in sorted((ROOT / "samples" / "covers").glob("*.jpg"))[:5]]


def engine_of(path, *batches, helpers=None):
    section = sections.Model(path=str(path), batches=list(batches))
    return build_model("covers", section, helpers=helpers).engine


@pytest.fixture(scope="module")
def alone(open_model, pictures):
    """What is found in each picture by itself."""
    engine = engine_of(open_model, 1)
    with engine.backend:
        assert engine.most == 1
        return [engine.look([Look(picture, 0.1)])[0] for picture in pictures]


def same(one, other):
    assert one.classes.tolist() == other.classes.tolist()
    np.testing.assert_allclose(one.xyxy, other.xyxy, atol=0.05)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-4)


@pytest.mark.parametrize(
    ("batches", "most"),
    [
        ((1, 2, 4), 4),  # 5 pictures: a call of four and one of one
        ((2,), 2),  # two, two, and one whose neighbour's place stays as it was
        ((1, 8), 8),  # one by one: an empty place takes as long as a full one
        ((8,), 8),  # five of eight places
        ((1,), 1),
    ],
)
def test_in_each_picture_of_a_call_the_same_is_found(open_model, pictures, alone, batches, most):
    engine = engine_of(open_model, *batches)
    with engine.backend:
        assert engine.most == most
        for _ in range(2):  # the second time in buffers that were used before
            found = engine.look([Look(picture, 0.1) for picture in pictures])
            for one, other in zip(found, alone, strict=True):
                same(one, other)
    assert sum(len(one) for one in alone) > 10, "there is something to find"


def test_with_helpers_the_same_is_found(open_model, pictures, alone):
    with Helpers(1) as helpers:
        engine = engine_of(open_model, 1, 2, 4, helpers=helpers)
        with engine.backend:
            found = engine.look([Look(picture, 0.1) for picture in pictures])
        assert {thread.name.partition("_")[0] for thread in threading.enumerate()} >= {"inspect"}, "one has helped"
    for one, other in zip(found, alone, strict=True):
        same(one, other)


@pytest.mark.parametrize(("pads", "calls"), [(False, [2, 1]), (True, [4])])
def test_places_stay_empty_only_where_a_call_costs_more_than_they_do(open_model, pictures, monkeypatch, pads, calls):
    engine, sizes = replace(engine_of(open_model, 1, 2, 4), pads=pads), []
    infer = type(engine.backend).infer

    def counted(backend, feeds):
        sizes.append(len(next(iter(feeds.values()))))
        return infer(backend, feeds)

    with engine.backend:
        monkeypatch.setattr(type(engine.backend), "infer", counted)
        engine.look([Look(picture, 0.1) for picture in pictures[:3]])
    assert sizes == calls


def test_pictures_of_one_call_share_its_time(open_model, pictures):
    engine = engine_of(open_model, 1, 2)
    traces = [Trace("a", 0), Trace("b", 0)]
    with engine.backend:
        engine.look([Look(picture, 0.1, trace) for picture, trace in zip(pictures, traces, strict=False)])
    first, second = ([span for span in trace.spans if span[0] != "decode"] for trace in traces)
    assert first == second
    assert [step for step, *_ in traces[0].spans] == ["preprocess", "inference", "decode"]


def test_numbers_that_can_not_be_fail_their_own_picture_alone(open_model, pictures):

    engine = engine_of(open_model, 2)

    def decode(outputs, letterbox, min_score, row):
        if row == 1:
            raise BadOutput("NaN")
        return inner(outputs, letterbox, min_score, row)

    inner = engine.decode
    with engine.backend:
        found = replace(engine, decode=decode).look([Look(picture, 0.1) for picture in pictures[:2]])
    assert len(found[0]) > 0
    assert isinstance(found[1], BadOutput)


def test_mdl_14_several_pictures_are_refused_where_the_file_takes_one():
    with pytest.raises(ModelError, match="fixed to 1 pictures a call; export it with an open batch axis"):
        engine_of(ROOT / "engines" / "covers_320.onnx", 1, 4)


LOOKS = [
    # until when the results of the pictures in one call are of use, and what the engine is told
    ([7], 7),
    ([None], None),
    ([9, 7, None], 7),  # the first that is due
    ([None, None], None),
]


@pytest.mark.parametrize(("deadlines", "told"), LOOKS)
def test_whoever_runs_the_network_is_told_until_when_it_is_of_use(open_model, pictures, deadlines, told):
    heard = []
    engine = replace(engine_of(open_model, 1, 4), due=heard.append, pads=True)
    with engine.backend:
        looks = [Look(picture, 0.1, deadline_ns=at) for picture, at in zip(pictures, deadlines, strict=False)]
        engine.look(looks)
    assert heard == [told]
