"""The covers models in INT8 beside FP32, on pictures of their line; `python -m tests.building.int8.covers_int8 320` prints.

The numbers after the model's size: how many pictures are made (240).
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import onnx
import onnxruntime as ort
from rich.console import Console
from rich.progress import Progress

from app.building.fp16 import to_fp16
from app.building.int8.calibrate import Calibrated, CalibrationOptions, calibrate
from app.building.int8.feeds import feeds_of
from app.building.int8.observe import observe
from app.building.int8.qdq import prepared, quantise
from app.building.int8.session import ModelRunner
from app.building.int8.tables import show, trials_table
from app.building.int8.thresholds import THRESHOLDS, min_max, ranges
from app.building.int8.trial import HeldOut, Trial
from app.building.layers import Layers
from app.building.verify_rules import Rules
from app.config import load, sections
from app.config.verify import Verify
from app.engine import HostEngine
from app.wiring.models import build_model
from tests.building.int8.covers_pictures import ROOT, write_line


class Kernels(ModelRunner):
    """Runs Q/DQ models by ONNX Runtime's own INT8 kernels, as its users would."""

    def __init__(self, model: onnx.ModelProto) -> None:
        options = ort.SessionOptions()
        options.log_severity_level = 4
        self._session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self._names = [output.name for output in self._session.get_outputs()]


def in_the_head(model: onnx.ModelProto, engine: HostEngine, made: Calibrated) -> onnx.ModelProto:
    """What must not be done: the sigmoids of the head, and where scores lie beside boxes, in INT8, too."""
    layers = Layers(model)
    nodes = [*layers.weighted, *layers.head]
    values = onnx.shape_inference.infer_shapes(model).graph
    floats = {
        value.name
        for value in (*values.value_info, *values.output, *values.input)
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    }
    tensors = {name for one in model.graph.node if one.name in nodes for name in (*one.input, *one.output)}
    fed = feeds_of(engine, made.pictures.calibrate[:20])
    return quantise(model, ranges(observe(model, sorted(tensors & floats), fed), min_max), nodes)


def by_class(trial: Trial) -> str:
    """How many of each class are left."""
    return ", ".join(f"{row.name} {row.reference - row.lost}/{row.reference}" for row in trial.classes)


def main(size: str = "320", count: str = "240") -> None:
    """Make pictures, calibrate, print."""
    path, console = ROOT / "engines" / f"covers_{size}.onnx", Console(width=150)
    wired = build_model("covers", sections.Model(path=str(path)))
    rules = Rules(load(ROOT / "configs" / "demo.yaml").config.cameras["covers"], wired.names)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Progress(console=console, transient=True) as progress:
        tasks: dict[str, int] = {}

        def tell(step: str, done: int, total: int | None) -> None:
            task = tasks.setdefault(step, progress.add_task(step) if step not in tasks else 0)
            progress.update(task, completed=done, total=total)

        line = write_line(Path(folder), int(count))
        made = calibrate(path, wired.engine, CalibrationOptions([line], rules=rules, rest_fp16=True), tell)
        model = prepared(onnx.load(path))
        held = HeldOut(wired.engine, ModelRunner(model), made.pictures.held_out, Verify(), rules)
        ends = made.found.recipe.ends
        layers = Layers(model).weighted
        rows = [
            held.trial("FP16", 0, ModelRunner(to_fp16(model))),
            held.trial("INT8, all layers", len(layers), ModelRunner(quantise(model, ends, layers))),
            held.trial("INT8, as chosen, the rest FP16", made.final.layers, ModelRunner(made.model)),
            held.trial("the same by ONNX Runtime's INT8 kernels", made.final.layers, Kernels(made.model)),
            held.trial("INT8, the head as well", len(layers), ModelRunner(in_the_head(model, wired.engine, made))),
        ]
    console.print(show(made))
    console.print(trials_table(f"{path.name} beside FP32, {len(held)} held out pictures", [(r.name, r) for r in rows]))
    for row in (*made.found.tried, *rows):
        console.print(f"{row.name}: {by_class(row)}", highlight=False)
    console.print(f"{len(THRESHOLDS)} calibrators, {time.monotonic() - begin:.0f} s, left out:")
    console.print("\n".join(made.found.recipe.left_out), highlight=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
