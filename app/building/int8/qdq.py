"""Puts Q/DQ nodes around layers: the form of INT8 that every TensorRT from 8.5 to 11 reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import version_converter
from onnxruntime.quantization import QuantType
from onnxruntime.quantization.calibrate import CalibrationMethod, TensorData, TensorsData
from onnxruntime.quantization.qdq_quantizer import QDQQuantizer

from app.building.fp16 import to_fp16
from app.building.layers import with_names
from app.errors import ModelError

OLDEST_OPSET = 19
"""The first whose Q/DQ nodes may have FP16 on their outer side."""
NEWEST_OPSET = 20
"""From 21 on ONNX Runtime writes Q/DQ nodes that not every TensorRT reads."""

# What TensorRT reads: symmetric, signed, and biases left alone (an INT32 Q/DQ is refused).
_OPTIONS = {
    "ActivationSymmetric": True,
    "WeightSymmetric": True,
    "QuantizeBias": False,
    # Weights stay float in the file, with a pair around them: TensorRT 10 may not take INT8 constants.
    "AddQDQPairToWeight": True,
    # A layer's output is rounded where the next layer reads it; in between it may be added to or looked at in full.
    "OpTypesToExcludeOutputQuantization": sorted({"Conv", "ConvTranspose", "Gemm", "MatMul"}),
}


def prepared(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy in which every node has a name and the opset is one that Q/DQ nodes need.

    Raises:
        ModelError: it can't be brought to that opset, or is quantised already.
    """
    if any(node.op_type in ("QuantizeLinear", "DequantizeLinear") for node in model.graph.node):
        raise ModelError("the model has Q/DQ nodes already: build it as it is")
    opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    wanted = min(max(opset, OLDEST_OPSET), NEWEST_OPSET)
    if opset == wanted:
        return with_names(model)
    try:
        return with_names(version_converter.convert_version(model, wanted))
    # What ONNX's converter raises has no base class of its own.
    except (RuntimeError, ValueError, onnx.checker.ValidationError) as error:
        raise ModelError(f"the model has opset {opset} and can't be brought to {wanted}: export it so") from error


def quantise(
    model: onnx.ModelProto, ends: Mapping[str, float], nodes: Sequence[str], *, rest_fp16: bool = False
) -> onnx.ModelProto:
    """Return a new model in which some nodes compute in INT8.

    Weights get one scale for each output channel, activations one for all.

    Args:
        model: FP32, from `prepared`; not changed.
        ends: by tensor, where its symmetric range ends; of every tensor that one of the nodes reads.
        nodes: by name.
        rest_fp16: what is not INT8 is FP16, but for the reading of boxes; for builders that take types from the ONNX.
    """
    base = to_fp16(model) if rest_fp16 else _copy(model)
    if not nodes:
        return base
    types = {node.op_type for node in base.graph.node if node.name in set(nodes)}
    quantizer = QDQQuantizer(
        base,
        per_channel=True,
        reduce_range=False,
        weight_qType=QuantType.QInt8,
        activation_qType=QuantType.QInt8,
        tensors_range=_ranges(model, base, ends, half=rest_fp16),
        nodes_to_quantize=list(nodes),
        nodes_to_exclude=[],
        op_types_to_quantize=sorted(types),
        extra_options=_OPTIONS,
    )
    quantizer.quantize_model()
    quantizer.model.topological_sort()
    quantised: onnx.ModelProto = quantizer.model.model
    _give_back(quantised, set(nodes))
    return quantised


def _give_back(model: onnx.ModelProto, nodes: set[str]) -> None:
    """Let whoever was not to be quantised read tensors as they were, in place.

    ONNX Runtime gives all readers of a tensor what came out of INT8, layers that were left out among them. Sums keep
    it: NVIDIA advises to quantise what a skip connection carries, so that the sum runs in the layer before it.
    """
    rounded = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "QuantizeLinear"}
    whole = {
        node.output[0]: rounded[node.input[0]]
        for node in model.graph.node
        if node.op_type == "DequantizeLinear" and node.input[0] in rounded
    }
    for node in model.graph.node:
        if node.name in nodes or node.op_type in ("Add", "QuantizeLinear", "DequantizeLinear"):
            continue
        for index, name in enumerate(node.input):
            node.input[index] = whole.get(name, name)


def _ranges(model: onnx.ModelProto, base: onnx.ModelProto, ends: Mapping[str, float], *, half: bool) -> TensorsData:
    """Return the ranges as ONNX Runtime takes them, under the names that the tensors have in `base`.

    Converting to FP16 puts casts behind the input and before the tail, so that layers read tensors of other names.
    """
    before = {node.name: node.input for node in model.graph.node}
    found = dict(ends)
    for node in base.graph.node:
        for old, new in zip(before.get(node.name, ()), node.input, strict=False):
            if old in ends:
                found[new] = ends[old]
    number = np.float16 if half else np.float32
    data = {
        name: TensorData(lowest=np.array(-end, number), highest=np.array(end, number)) for name, end in found.items()
    }
    return TensorsData(CalibrationMethod.MinMax, data)


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy
