"""FP16 by the ONNX: nothing found is lost, boxes keep their place, and real builders take it."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from app.building.fp16 import to_fp16
from app.building.int8.session import ModelRunner
from app.errors import ModelError
from tests.building.int8.networks import network, node, numbers, weight


def pictures(shape: tuple[int, ...] = (1, 3, 320, 320)) -> dict[str, np.ndarray]:
    return {"images": np.random.default_rng(0).random(shape, np.float32)}


def kinds(model: onnx.ModelProto) -> Counter[int]:
    """How many convolutions have weights of which type."""
    types = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    return Counter(types[one.input[1]] for one in model.graph.node if one.op_type == "Conv")


def test_all_layers_are_fp16_and_input_and_output_are_not(covers: onnx.ModelProto) -> None:
    before = covers.SerializeToString()
    model = to_fp16(covers)
    assert kinds(model) == {TensorProto.FLOAT16: 63}
    ends = [*model.graph.input, *model.graph.output]
    assert [end.type.tensor_type.elem_type for end in ends] == [TensorProto.FLOAT, TensorProto.FLOAT]
    assert covers.SerializeToString() == before, "the model that was given has changed"


def test_the_models_own_texts_stay_with_it(covers: onnx.ModelProto) -> None:
    assert {entry.key for entry in to_fp16(covers).metadata_props} >= {"names", "stride", "imgsz"}


def test_boxes_are_not_rounded_to_half_pixels(covers: onnx.ModelProto) -> None:
    expected = ModelRunner(covers).infer(pictures())["output0"]
    got = ModelRunner(to_fp16(covers)).infer(pictures())["output0"]
    assert not np.array_equal(got, got.astype(np.float16)), "every number of the output went through FP16"
    assert np.abs(got - expected)[:, :4].max() < 0.5
    assert np.abs(got - expected)[:, 4:].max() < 0.005


def test_a_real_builder_takes_it(covers: onnx.ModelProto, real_build: Callable[[onnx.ModelProto], int]) -> None:
    assert real_build(to_fp16(covers)) > 100_000


def test_a_factor_that_fp16_can_not_hold_gives_a_map_of_the_same_size() -> None:
    factor = 39 / 30 + 1e-6  # in FP16 1.2998, which gives 38 rows
    model = network(
        [
            node("Conv", "images w", "features", "first"),
            node("Resize", "features - factors", "large", "grow", mode="nearest"),
            node("Conv", "large v", "out", "second"),
        ],
        [weight("w", 3, 3, 1, 1), weight("v", 3, 3, 1, 1), numbers("factors", [1, 1, factor, factor])],
        shape=(1, 3, 30, 30),
    )
    got = ModelRunner(to_fp16(model)).infer(pictures((1, 3, 30, 30)))["out"]
    assert got.shape == (1, 3, 39, 39)


def test_resizing_moves_fp16_as_it_is(covers: onnx.ModelProto) -> None:
    casts = [one for one in to_fp16(covers).graph.node if one.op_type == "Cast"]
    assert not [one.name for one in casts if "Resize" in one.name and "_0" in one.output[0]]


def test_weights_that_fp16_can_not_hold_stay_as_they_are() -> None:
    large = numbers("large", np.full((3, 3, 1, 1), 1e5))
    model = network(
        [
            node("Conv", "images w", "features", "first"),
            node("Conv", "features large", "same", "scaling"),
            node("Conv", "same small", "out", "last"),
        ],
        [weight("w", 3, 3, 1, 1), large, numbers("small", np.full((3, 3, 1, 1), 1e-5))],
    )
    shape = (1, 3, 16, 16)
    inputs = {"images": pictures(shape)["images"] * 0.1}
    expected = ModelRunner(model).infer(inputs)["out"]
    np.testing.assert_allclose(ModelRunner(to_fp16(model)).infer(inputs)["out"], expected, rtol=0.02, atol=1e-3)


def test_a_named_layer_stays_in_fp32(covers: onnx.ModelProto) -> None:
    model = to_fp16(covers, keep=["/stem/stem.0/Conv"])
    assert kinds(model) == {TensorProto.FLOAT16: 62, TensorProto.FLOAT: 1}
    assert ModelRunner(model).infer(pictures())["output0"].dtype == np.float32


def test_a_name_that_is_no_nodes_is_refused(covers: onnx.ModelProto) -> None:
    with pytest.raises(ModelError, match="no node is called Conv_99"):
        to_fp16(covers, keep=["Conv_99"])


def test_a_model_that_is_fp16_already_is_refused(covers: onnx.ModelProto) -> None:
    with pytest.raises(ModelError, match="FP16 already"):
        to_fp16(to_fp16(covers))


def test_a_constant_that_layers_and_tail_share_is_exact_in_the_tail() -> None:
    third = numbers("third", [1 / 3])
    model = network(
        [
            node("Mul", "images third", "less", "first"),
            node("Conv", "less w", "features", "last"),
            node("Mul", "features third", "out", "tail"),
        ],
        [third, numbers("w", np.eye(3).reshape(3, 3, 1, 1))],
    )
    converted = to_fp16(model)
    own = {tensor.name: numpy_helper.to_array(tensor) for tensor in converted.graph.initializer}
    last = next(one for one in converted.graph.node if one.name == "tail")
    assert own[last.input[1]].dtype == np.float32
    assert own[last.input[1]] == np.float32(1 / 3)


def test_a_tail_with_a_branch_reads_what_it_read_before() -> None:
    inner = helper.make_graph(
        [node("Add", "features one", "sum", "add")],
        "then",
        [],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, None)],
    )
    other = helper.make_graph(
        [node("Sub", "features one", "rest", "subtract")],
        "else",
        [],
        [helper.make_tensor_value_info("rest", TensorProto.FLOAT, None)],
    )
    model = network(
        [
            node("Conv", "images w", "features", "last"),
            node("If", "yes", "out", "branch", then_branch=inner, else_branch=other),
        ],
        [weight("w", 3, 3, 1, 1), numbers("one", [1.0]), numbers("yes", True, np.bool_)],
    )
    inputs = pictures((1, 3, 16, 16))
    expected = ModelRunner(model).infer(inputs)["out"]
    np.testing.assert_allclose(ModelRunner(to_fp16(model)).infer(inputs)["out"], expected, atol=2e-3)
