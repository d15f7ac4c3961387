"""What quantising does to what is found, class by class; the known failure of a quantised head among it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest

from app.agreement import ClassAgreement
from app.building.int8.feeds import feeds_of
from app.building.int8.observe import observe
from app.building.int8.pictures import choose
from app.building.int8.qdq import prepared, quantise
from app.building.int8.session import ModelRunner
from app.building.int8.sweep import sensitive, sweep
from app.building.int8.thresholds import min_max, ranges
from app.building.int8.trial import HeldOut, Trial, damage_of
from app.building.layers import Layers
from app.config.verify import Verify
from app.engine import HostEngine
from app.errors import ModelError
from tests.building.int8.conftest import PICTURES


def agreement(name: str = "scratch", **figures: float) -> ClassAgreement:
    same = {"reference": 10, "candidate": 10, "lost": 0, "invented": 0, "fell": 0, "rose": 0}
    alike = {"iou_mean": 1.0, "iou_least": 1.0, "score_mean": 0.0, "score_most": 0.0}
    return ClassAgreement(name=name, **{**same, **alike, **figures})


@pytest.mark.parametrize(
    ("classes", "damage"),
    [
        ([agreement()], 0.0),
        ([agreement(lost=10)], 1.0),
        ([agreement(lost=1)], 0.1),
        ([agreement(invented=1)], 0.1),
        ([agreement(iou_mean=0.9, score_mean=0.05)], 0.15),
        ([agreement("screw", reference=1000), agreement("scratch", lost=5)], 0.25),  # rare classes weigh the same
        ([], 0.0),
    ],
)
def test_damage_is_what_a_line_would_notice(classes: list[ClassAgreement], damage: float) -> None:
    assert damage_of(classes) == pytest.approx(damage)


@pytest.fixture
def ready(covers: onnx.ModelProto) -> onnx.ModelProto:
    """The covers model with the opset that is needed."""
    return prepared(covers)


@pytest.fixture
def held(ready: onnx.ModelProto, engine: HostEngine, line: Path) -> HeldOut:
    """The covers line's held out pictures."""
    return HeldOut(engine, ModelRunner(ready), choose([line], least=PICTURES).held_out, Verify())


def test_the_model_itself_does_no_damage(ready: onnx.ModelProto, held: HeldOut) -> None:
    trial = held.trial("itself", 0, ModelRunner(ready))
    assert (trial.damage, trial.lost, trial.invented, trial.refused) == (0.0, 0, 0, ())
    assert sum(row.reference for row in trial.classes) > 20


def test_a_quantised_head_finds_nothing_and_the_sweep_shows_it(
    ready: onnx.ModelProto, held: HeldOut, engine: HostEngine, line: Path
) -> None:
    """One scale for pixels up to 320 and for scores up to 1: every score is rounded to nothing."""
    layers = Layers(ready)
    nodes = (*layers.weighted[-2:], *layers.head)
    values = onnx.shape_inference.infer_shapes(ready).graph
    floats = {
        value.name
        for value in (*values.value_info, *values.output)
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    }
    tensors = {name for one in ready.graph.node if one.name in nodes for name in (*one.input, *one.output)}
    fed = feeds_of(engine, choose([line], least=PICTURES).calibrate[:4])
    ends = ranges(observe(ready, sorted(tensors & floats), fed), min_max)

    def attempt(names: Sequence[str]) -> Trial:
        return held.trial(" ".join(names), len(names), ModelRunner(quantise(ready, ends, names)))

    suspects = sweep(nodes, attempt)
    worst = suspects[0]
    assert worst.nodes == ("/Concat_13",)
    assert worst.trial.lost == sum(row.reference for row in worst.trial.classes)
    assert worst.trial.damage == pytest.approx(1.0)
    assert any("lost" in line for line in worst.trial.refused)
    blamed = sensitive(suspects)
    assert set(blamed) & set(layers.head)
    assert attempt(layers.weighted[-2:]).damage < 0.1


def test_pictures_on_which_the_model_finds_nothing_judge_nothing(
    ready: onnx.ModelProto, engine: HostEngine, tmp_path: Path
) -> None:
    for index in range(3):
        cv2.imwrite(str(tmp_path / f"{index}.png"), np.full((240, 320, 3), 40 + 30 * index, np.uint8))
    pictures = choose([tmp_path], least=3).held_out
    with pytest.raises(ModelError, match="finds nothing on the pictures"):
        HeldOut(engine, ModelRunner(ready), pictures, Verify())
