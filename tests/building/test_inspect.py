"""What `engine inspect` says of small graphs made here, one for each thing that it can find, and of the demo's model."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

from app.building.inspect_branches import branches
from app.building.inspect_cost import memory, op_costs, uncounted
from app.building.inspect_findings import findings
from app.building.inspect_model import inspect_model
from app.building.inspect_read import graph_of
from app.cli import app
from app.errors import ModelError
from tests.conftest import ROOT

COVERS = ROOT / "engines" / "covers_640.onnx"


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), output.split(), output.split()[0], **attributes)


def values(name, *shape, fill=0.01, dtype=np.float32):
    return numpy_helper.from_array(np.full(shape, fill, dtype), name)


def model(nodes, weights=(), *, inputs=None, outputs=("y",), opset=17, kind=TensorProto.FLOAT):
    given = inputs or {"x": (1, 8, 16, 16)}
    graph = helper.make_graph(
        nodes,
        "made here",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in given.items()],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs],
        list(weights),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("mine", 1)])


def graph(*arguments, **more):
    return graph_of(model(*arguments, **more))


def kinds(found):
    return {finding.kind for finding in findings(found)}


def text(found, kind):
    (said,) = [finding.text for finding in findings(found) if finding.kind == kind]
    return said


CONV = node("Conv", "x w b", "y", pads=[1] * 4)
KERNELS = (values("w", 16, 8, 3, 3), values("b", 16))
NORM = [values(name, 16) for name in ("scale", "shift", "mean", "var")]


# ── cost ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

COSTS = [
    # each of 16 x 16 x 16 numbers is made of 8 x 3 x 3 products
    (graph([CONV], KERNELS), "Conv", 2 * 16 * 16 * 16 * 72, 16 * 72 + 16),
    # in groups of one channel
    (
        graph([node("Conv", "x w", "y", group=8, pads=[1] * 4)], [values("w", 8, 1, 3, 3)]),
        *("Conv", 2 * 8 * 16 * 16 * 9, 72),
    ),
    # with a stride: a quarter of the places
    (graph([node("Conv", "x w b", "y", pads=[1] * 4, strides=[2, 2])], KERNELS), "Conv", 2 * 16 * 8 * 8 * 72, 1168),
    # the other way round each number of the input is spread
    (
        graph([node("ConvTranspose", "x w", "y", strides=[2, 2])], [values("w", 8, 4, 2, 2)]),
        *("ConvTranspose", 2 * 8 * 16 * 16 * 4 * 4, 128),
    ),
    (
        graph([node("Gemm", "x w b", "y", transB=1)], [values("w", 10, 32), values("b", 10)], inputs={"x": (4, 32)}),
        *("Gemm", 2 * 4 * 10 * 32, 330),
    ),
    (graph([node("MatMul", "x w", "y")], [values("w", 32, 10)], inputs={"x": (4, 32)}), "MatMul", 2 * 4 * 10 * 32, 320),
]


@pytest.mark.parametrize(("found", "op", "flops", "params"), COSTS)
def test_multiply_adds_and_parameters_are_counted(found, op, flops, params):
    (row,) = op_costs(found)
    assert (row.op, row.count, row.flops, row.params) == (op, 1, flops, params)


def test_grids_and_limits_are_no_parameters_and_a_weight_used_twice_is_one():
    nodes = [CONV, node("Conv", "x w b", "z", pads=[1] * 4), node("Add", "y z", "s"), node("Mul", "s grid", "o")]
    rows = {row.op: row for row in op_costs(graph(nodes, [*KERNELS, values("grid", 16, 16)], outputs=["o"]))}
    assert (rows["Conv"].count, rows["Conv"].params, rows["Mul"].params) == (2, 16 * 72 + 16, 0)


def test_the_covers_model_costs_what_its_layers_add_up_to():
    found = inspect_model(COVERS)
    # By hand: every convolution's places x channels out x channels in of its group x kernel, twice; sizes from a run.
    loaded = onnx.shape_inference.infer_shapes(onnx.load(COVERS))
    shapes = {
        value.name: [axis.dim_value for axis in value.type.tensor_type.shape.dim]
        for value in (*loaded.graph.value_info, *loaded.graph.output)
    }
    weights = {tensor.name: tensor.dims for tensor in loaded.graph.initializer}
    convs = [each for each in loaded.graph.node if each.op_type == "Conv"]
    by_hand = sum(2 * np.prod(shapes[each.output[0]]) * np.prod(weights[each.input[1]][1:]) for each in convs)
    assert len(convs) == 63
    assert found.flops == by_hand == 1_528_262_400
    # The first one alone: 240 x 320 places, 12 channels of 3 x 3 x 3.
    first = convs[0]
    assert shapes[first.output[0]][2:] == [240, 320]
    assert found.params == sum(int(np.prod(weights[name])) for each in convs for name in each.input[1:])
    assert (found.family, found.names[-1]) == ("yolov8", "scratch")
    assert found.kind.startswith("a picture of 640 × 480, rgb, float32 0…1, nchw")
    assert [finding.level for finding in found.findings] == ["hint"]


def test_memory_is_what_is_alive_at_once():
    nodes = [node("Relu", "x", "a"), node("Relu", "a", "b"), node("Add", "a b", "y")]
    found = memory(graph(nodes, [values("w", 100)]))
    one = 8 * 16 * 16 * 4
    assert (found.weights, found.activations, found.at) == (400, 3 * one, "y")
    assert memory(graph([node("Relu", "x", "y")])).activations == 2 * one


def test_open_sizes_are_filled_with_those_that_are_told():
    open_model = model([CONV], KERNELS, inputs={"x": ("batch", 8, "height", "width")})
    assert len(uncounted(graph_of(open_model))) == 1
    open_model = model([CONV], KERNELS, inputs={"x": ("batch", 8, "height", "width")})
    (row,) = op_costs(graph_of(open_model, {"x": (1, 8, 16, 16)}))
    assert row.flops == 2 * 16 * 16 * 16 * 72


# ── findings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_plain_graph_has_nothing_to_say():
    assert findings(graph([CONV], KERNELS)) == ()


def test_a_batch_normalisation_behind_a_convolution_should_have_been_folded():
    nodes = [node("Conv", "x w b", "c", pads=[1] * 4), node("BatchNormalization", "c scale shift mean var", "y")]
    assert text(graph(nodes, [*KERNELS, *NORM]), "unfused_batch_norm").startswith("1 BatchNormalization left")
    alone = [node("BatchNormalization", "x scale shift mean var", "y")]
    found = graph(alone, [values(name, 8) for name in ("scale", "shift", "mean", "var")])
    assert kinds(found) == {"batch_norm"}


def block(*, identity=True, normalised=True, activation=False, second_stride=1):
    """A block as RepVGG trains it: 3 x 3 and 1 x 1 convolutions of one input, and that input, added up."""
    nodes = [
        node("Conv", "x w3", "c3", pads=[1] * 4),
        node("Conv", "x w1", "c1", strides=[second_stride] * 2),
    ]
    ends = ["c3", "c1"]
    weights = [values("w3", 8, 8, 3, 3), values("w1", 8, 8, 1, 1), *(values(f"n{i}", 8) for i in range(4))]
    if normalised:
        nodes += [node("BatchNormalization", f"{end} n0 n1 n2 n3", f"{end}n") for end in ends]
        ends = [f"{end}n" for end in ends]
    if activation:
        nodes.append(node("Relu", ends[0], "active"))
        ends[0] = "active"
    if identity:
        nodes.append(node("BatchNormalization", "x n0 n1 n2 n3", "xn"))
        ends.append("xn")
    nodes.append(node("Add", f"{ends[0]} {ends[1]}", "y" if len(ends) == 2 else "s"))
    if len(ends) == 3:
        nodes.append(node("Add", f"s {ends[2]}", "y"))
    return graph(nodes, weights)


BLOCKS = [
    # as in training: 3 x 3, 1 x 1 and the input, each normalised
    ({}, 2),
    # where the stride is 2 there is no input to add
    ({"identity": False}, 2),
    # an export that folded the normalisation but not the branches
    ({"normalised": False, "identity": False}, 2),
    # an activation on one branch: not linear, so not one convolution
    ({"activation": True, "identity": False}, 0),
    # another stride: another grid
    ({"second_stride": 2, "identity": False}, 0),
]


@pytest.mark.parametrize(("setting", "convs"), BLOCKS)
def test_parallel_branches_of_training_are_found(setting, convs):
    assert [len(each.convs) for each in branches(block(**setting))] == ([convs] if convs else [])


def test_the_branches_that_would_go_are_counted_in_flops():
    (found,) = branches(block())
    assert found.saved_flops == 2 * 8 * 16 * 16 * 8
    assert "10% of the FLOPs" in text(block(), "not_reparameterised")


def test_a_shortcut_over_two_layers_is_no_such_block():
    nodes = [
        node("Conv", "x w3", "c", pads=[1] * 4),
        node("Relu", "c", "r"),
        node("Conv", "r w3", "d", pads=[1] * 4),
        node("Add", "d x", "y"),
    ]
    assert list(branches(graph(nodes, [values("w3", 8, 8, 3, 3)]))) == []


def quantised(*, zero=0, sigmoid=False):
    nodes = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d" if sigmoid else "y")]
    nodes += [node("Sigmoid", "d", "y")] if sigmoid else []
    return graph(nodes, [values("s", fill=0.1), values("z", fill=zero, dtype=np.int8)])


def then():
    relu = helper.make_graph([node("Relu", "x", "t")], "then", [], [helper.make_tensor_value_info("t", 1, None)])
    return graph(
        [helper.make_node("If", ["c"], ["y"], "choice", then_branch=relu, else_branch=relu)],
        [numpy_helper.from_array(np.array(True), "c")],
    )


NMS_WEIGHTS = [numpy_helper.from_array(np.array([9], np.int64), "most")]
FOUND = [
    # NMS in the graph: its thresholds are fixed, and what it gives has no fixed size
    (
        graph(
            [node("NonMaxSuppression", "boxes scores most", "y")],
            NMS_WEIGHTS,
            inputs={"boxes": (1, 9, 4), "scores": (1, 2, 9)},
            kind=TensorProto.INT64,
        ),
        *({"nms_in_graph", "not_capturable", "open_output"}, "nms_in_graph", "nms=False"),
    ),
    # how many there are depends on the picture
    (
        graph([node("NonZero", "x", "y")], kind=TensorProto.INT64),
        *({"not_capturable", "open_output"}, "not_capturable", "1 × NonZero (y)"),
    ),
    # the course depends on a value
    (then(), {"not_capturable"}, "not_capturable", "1 × If (choice)"),
    # an operation of somebody's own
    (
        graph([helper.make_node("Deform", ["x"], ["y"], "mine", domain="mine")]),
        *({"foreign_op", "open_output"}, "foreign_op", "mine.Deform"),
    ),
    # more than TensorRT sorts
    (
        graph(
            [node("TopK", "x k", "y i")],
            [numpy_helper.from_array(np.array([5000], np.int64), "k")],
            inputs={"x": (1, 8400)},
        ),
        *({"topk"}, "topk", "wants 5000, TensorRT gives 3840"),
    ),
    # every second pixel, as YOLOv5 began
    (
        graph(
            [node("Slice", "x from to axes steps", "y")],
            [
                numpy_helper.from_array(np.array([number], np.int64), name)
                for name, number in (("from", 0), ("to", 99), ("axes", 2), ("steps", 2))
            ],
        ),
        *({"focus"}, "focus", "1 slices take every second pixel"),
    ),
    # infinity in FP16
    (
        graph([node("Add", "x big", "y")], [values("big", fill=1e9)]),
        {"too_large_for_fp16"},
        "too_large_for_fp16",
        "big",
    ),
    # nothing in FP16
    (
        graph([node("Conv", "x w b", "y", pads=[1] * 4)], [values("w", 16, 8, 3, 3, fill=1e-9), values("b", 16)]),
        *({"too_small_for_fp16"}, "too_small_for_fp16", "99% of the weights"),
    ),
    # a file that carries its precision
    (quantised(), {"carries_int8"}, "carries_int8", "2 QuantizeLinear and DequantizeLinear"),
    # zero points that TensorRT refuses
    (quantised(zero=3), {"carries_int8", "asymmetric"}, "asymmetric", "symmetrically"),
    # the head's scores in 256 steps
    (quantised(sigmoid=True), {"carries_int8", "head_in_int8"}, "head_in_int8", "Sigmoid is in INT8 (y)"),
    # one channel at a time
    (
        graph([node("Conv", "x w", "y", group=8, pads=[1] * 4)], [values("w", 8, 1, 3, 3)]),
        *({"depthwise"}, "depthwise", "1 depthwise Conv (y)"),
    ),
    # channels that leave tensor cores half empty
    (
        graph([node("Conv", "x w", "y", pads=[1] * 4)], [values("w", 5, 8, 3, 3)]),
        *({"uneven_channels"}, "uneven_channels", "100% of the FLOPs"),
    ),
]


@pytest.mark.parametrize(("found", "all_kinds", "kind", "said"), FOUND)
def test_each_thing_that_costs_is_found_and_named(found, all_kinds, kind, said):
    assert kinds(found) == all_kinds
    assert said in text(found, kind)


def test_a_quantised_bias_is_found():
    nodes = [node("DequantizeLinear", "b32 s", "b"), CONV]
    weights = [KERNELS[0], values("b32", 16, fill=1, dtype=np.int32), values("s", fill=0.1)]
    assert "quantised_bias" in kinds(graph(nodes, weights))


def test_warnings_come_before_hints():
    found = [finding.level for finding in findings(quantised(zero=3))]
    assert found == ["warning", "hint"]


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_command_prints_a_table_and_as_json_everything():
    said = CliRunner().invoke(app, ["engine", "inspect", str(COVERS)])
    assert said.exit_code == 0
    assert "1.53 GFLOPs a picture, 594 k parameters" in " ".join(said.stdout.split())
    tree = json.loads(CliRunner().invoke(app, ["engine", "inspect", str(COVERS), "--json"]).stdout)
    assert tree["flops"] == 1_528_262_400
    assert tree["inputs"][0]["shape"] == [1, 3, 480, 640]
    assert tree["ops"][0] == {"op": "Conv", "count": 63, "flops": 1_528_262_400, "params": 594_379}


def test_a_model_of_open_size_is_counted_for_the_size_that_is_asked_for(tmp_path):
    path = tmp_path / "open.onnx"
    onnx.save(
        model([node("Conv", "x w", "y", pads=[1] * 4)], [values("w", 9, 3, 3, 3)], inputs={"x": ("n", 3, "h", "w_")}),
        path,
    )
    found = inspect_model(path, (64, 32))
    assert found.flops == 2 * 9 * 32 * 64 * 27
    assert inspect_model(path).flops == 2 * 9 * 640 * 640 * 27
    assert "input" in {finding.kind for finding in inspect_model(path).findings}


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "page.onnx").write_text("<html>")
    with pytest.raises(ModelError, match="it is a web page"):
        inspect_model(tmp_path / "page.onnx")
