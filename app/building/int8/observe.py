"""Counts the values that flow into a model's layers while it looks at pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import onnx
from onnx import helper

from app.building.int8.histogram import Histogram
from app.building.int8.session import ModelRunner
from app.errors import ModelError
from app.inference.base import Tensors


def observe(model: onnx.ModelProto, tensors: Sequence[str], inputs: Iterable[Tensors]) -> dict[str, Histogram]:
    """Run the FP32 model on every input and return how large the named tensors get.

    One picture's tensors are in memory at a time, however many pictures there are.

    Args:
        model: not changed.
        tensors: float tensors of it.
        inputs: feeds, each used up before the next is asked for.

    Raises:
        ModelError: a tensor is not finite on some picture; the model can't run.
    """
    fed = {value.name for value in model.graph.input}
    runner = ModelRunner(_showing(model, [name for name in tensors if name not in fed]))
    histograms = {name: Histogram() for name in tensors}
    for feeds in inputs:
        seen = {**feeds, **runner.infer(feeds)}
        for name, histogram in histograms.items():
            try:
                histogram.add(seen[name])
            except ValueError as error:
                raise ModelError(f"tensor {name!r}: {error} on a picture of the calibration set") from error
    return histograms


def _showing(model: onnx.ModelProto, tensors: Sequence[str]) -> onnx.ModelProto:
    """Return the model with further outputs."""
    showing = onnx.ModelProto()
    showing.CopyFrom(model)
    there = {value.name for value in showing.graph.output}
    for name in dict.fromkeys(tensors):
        if name not in there:
            # Without a type: ONNX Runtime infers it.
            showing.graph.output.append(helper.make_empty_tensor_value_info(name))
    return showing
