"""Q/DQ models: the form that TensorRT reads, around the layers that were asked for and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from app.building.int8.qdq import prepared, quantise
from app.building.int8.session import ModelRunner
from app.building.layers import Layers
from app.errors import ModelError
from tests.building.int8.networks import network, node, weight


def ends(model: onnx.ModelProto) -> dict[str, float]:
    """A range that is about right for every tensor."""
    return {name: 8.0 for one in model.graph.node for name in one.input}


def quantised_inputs(model: onnx.ModelProto) -> Counter[str]:
    """Which kinds of node read something that came out of INT8."""
    dequantised = {output for one in model.graph.node if one.op_type == "DequantizeLinear" for output in one.output}
    return Counter(
        one.op_type for one in model.graph.node if one.op_type != "QuantizeLinear" and dequantised & set(one.input)
    )


@pytest.fixture
def ready(covers: onnx.ModelProto) -> onnx.ModelProto:
    """The covers model with the opset that is needed."""
    return prepared(covers)


@pytest.mark.parametrize("rest_fp16", [False, True], ids=["rest FP32", "rest FP16"])
def test_all_is_symmetric_and_signed_and_no_bias_is_touched(ready: onnx.ModelProto, rest_fp16: bool) -> None:
    model = quantise(ready, ends(ready), Layers(ready).weighted, rest_fp16=rest_fp16)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    zeros = [constants[one.input[2]] for one in model.graph.node if one.op_type == "QuantizeLinear"]
    assert {zero.dtype for zero in zeros} == {np.dtype(np.int8)}
    assert not any(zero.any() for zero in zeros)
    convolutions = [one for one in model.graph.node if one.op_type == "Conv"]
    assert all(one.input[2] in constants for one in convolutions), "a bias comes out of a node"
    assert np.int32 not in {value.dtype for value in constants.values()}


def test_weights_have_a_scale_for_each_channel_and_activations_one(ready: onnx.ModelProto) -> None:
    model = quantise(ready, ends(ready), ["/heads.0/cls/cls.2/Conv"])
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    sizes = sorted(constants[one.input[1]].size for one in model.graph.node if one.op_type == "QuantizeLinear")
    assert sizes == [1, 5]  # the picture's features; five classes


def test_only_layers_read_int8_so_the_heads_sigmoids_and_concats_do_not(ready: onnx.ModelProto) -> None:
    model = quantise(ready, ends(ready), Layers(ready).weighted)
    assert quantised_inputs(model) == {"Conv": 63, "Add": 6}  # the sums of skip connections, as NVIDIA advises


def test_layers_that_are_left_out_stay_as_they_are(ready: onnx.ModelProto) -> None:
    kept = Layers(ready).weighted[5:]
    assert quantised_inputs(quantise(ready, ends(ready), kept))["Conv"] == 58


def test_a_layer_that_is_left_out_reads_what_its_neighbour_reads_before_it_is_rounded() -> None:
    model = prepared(
        network(
            [
                node("Conv", "images w", "features", "first"),
                node("Conv", "features v", "left", "rounded"),
                node("Conv", "features v", "right", "exact"),
                node("Sub", "left right", "out", "difference"),
            ],
            [weight("w", 3, 3, 1, 1), weight("v", 3, 3, 1, 1)],
        )
    )
    made = quantise(model, {"features": 1.0}, ["rounded"])
    assert next(one.input[0] for one in made.graph.node if one.name == "exact") == "features"
    assert quantised_inputs(made) == {"Conv": 1}


@pytest.mark.parametrize("rest_fp16", [False, True], ids=["rest FP32", "rest FP16"])
def test_a_real_builder_takes_it(
    ready: onnx.ModelProto, rest_fp16: bool, real_build: Callable[[onnx.ModelProto], int]
) -> None:
    model = quantise(ready, ends(ready), Layers(ready).weighted[3:], rest_fp16=rest_fp16)
    onnx.checker.check_model(model, full_check=True)
    assert real_build(model) > 100_000


def test_what_is_left_out_is_fp16_and_boxes_are_not(ready: onnx.ModelProto) -> None:
    model = quantise(ready, ends(ready), Layers(ready).weighted, rest_fp16=True)
    got = ModelRunner(model).infer({"images": np.random.default_rng(0).random((1, 3, 320, 320), np.float32)})["output0"]
    assert got.dtype == np.float32
    assert not np.array_equal(got, got.astype(np.float16))
    types = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    outer = {types[one.input[1]] for one in model.graph.node if one.op_type == "QuantizeLinear"}
    assert outer == {onnx.TensorProto.FLOAT16}


@pytest.mark.parametrize("opset", [12, 17, 19, 20, 21])
def test_the_opset_becomes_one_that_every_builder_reads(opset: int) -> None:
    model = network([node("Conv", "images w", "out")], [weight("w", 4, 3, 3, 3)], opset=opset)
    ready = prepared(model)
    assert 19 <= ready.opset_import[0].version <= 20
    assert model.opset_import[0].version == opset
    inputs = {"images": np.random.default_rng(0).random((1, 3, 16, 16), np.float32)}
    made = quantise(ready, {"images": 1.0}, [ready.graph.node[0].name])
    np.testing.assert_allclose(
        ModelRunner(made).infer(inputs)["out"], ModelRunner(model).infer(inputs)["out"], atol=0.05
    )


def test_a_model_with_qdq_nodes_is_refused(ready: onnx.ModelProto) -> None:
    with pytest.raises(ModelError, match="Q/DQ nodes already"):
        prepared(quantise(ready, ends(ready), Layers(ready).weighted[:1]))


def test_the_model_that_was_given_is_not_changed(ready: onnx.ModelProto) -> None:
    before = ready.SerializeToString()
    quantise(ready, ends(ready), Layers(ready).weighted)
    assert ready.SerializeToString() == before


def test_nothing_to_quantise_gives_the_model_itself(ready: onnx.ModelProto) -> None:
    assert quantise(ready, {}, []) == ready
