"""Which nodes are layers, which only read boxes."""

import onnx

from app.building.layers import Layers, with_names
from tests.building.int8.networks import network, node, numbers, weight


def test_the_tail_of_the_covers_model_is_what_comes_after_its_last_layers(covers: onnx.ModelProto) -> None:
    layers = Layers(covers)
    assert len(layers.weighted) == 63
    assert "/heads.2/cls/cls.2/Conv" in layers.weighted
    operators = {node.op_type for node in covers.graph.node if node.name in layers.tail}
    assert operators >= {"Sigmoid", "Exp", "Concat", "Reshape"}
    assert not operators & {"Conv", "MaxPool", "Resize"}


def test_only_the_heads_own_sigmoids_are_kept_out_and_not_those_between_layers(covers: onnx.ModelProto) -> None:
    sigmoids = [node.name for node in covers.graph.node if node.op_type == "Sigmoid"]
    of_head = [name for name in Layers(covers).head if name in sigmoids]
    assert len(sigmoids) == 60
    assert of_head == ["/Sigmoid", "/Sigmoid_1", "/Sigmoid_2"]


def test_scores_are_followed_to_where_they_come_to_lie_beside_boxes(covers: onnx.ModelProto) -> None:
    assert {"/Concat_5", "/Concat_8", "/Concat_11", "/Concat_13"} <= set(Layers(covers).head)


def test_a_product_of_two_activations_is_no_layer() -> None:
    model = network(
        [
            node("MatMul", "images w", "query", "query"),
            node("MatMul", "query query", "attention", "attention"),
            node("MatMul", "attention w", "out", "value"),
        ],
        [weight("w", 16, 16)],
    )
    assert Layers(model).weighted == ("query", "value")
    assert Layers(model).tail == ()


def test_the_convolution_that_adds_up_a_softmax_belongs_to_the_tail() -> None:
    model = network(
        [
            node("Conv", "images w", "logits", "last"),
            node("Softmax", "logits", "shares", "softmax", axis=1),
            node("Transpose", "shares", "turned", "turn", perm=[0, 1, 3, 2]),
            node("Conv", "turned bins", "out", "distances"),
        ],
        [weight("w", 4, 3, 1, 1), numbers("bins", [[[[0]], [[1]], [[2]], [[3]]]])],
    )
    layers = Layers(model)
    assert layers.weighted == ("last",)
    assert layers.tail == ("softmax", "turn", "distances")


def test_nodes_without_a_name_and_with_anothers_get_their_own() -> None:
    nodes = [node("Relu", "images", "a"), node("Relu", "a", "b", "twice"), node("Relu", "b", "out", "twice")]
    model = network(nodes, [])
    assert [one.name for one in with_names(model).graph.node] == ["Relu_0", "twice", "twice_2"]
    assert [one.name for one in model.graph.node] == ["", "twice", "twice"]
