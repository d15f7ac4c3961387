"""What a person should know of a graph before a GPU runs it: what is slow, can't be captured, or loses precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.building.inspect_branches import branches
from app.building.inspect_cost import flops
from app.building.inspect_graph import Graph, Node

Level: TypeAlias = Literal["warning", "hint"]

UNCAPTURED = ("NonZero", "NonMaxSuppression", "Loop", "If", "Scan", "Unique", "Compress", "SequenceConstruct")
"""Their sizes or their course depend on the picture: the host must look, and a CUDA graph has no place for that."""

NMS = (
    "NonMaxSuppression",
    "EfficientNMS_TRT",
    "EfficientNMS_ONNX_TRT",
    "BatchedNMS_TRT",
    "BatchedNMSDynamic_TRT",
    "NMS_TRT",
)
OWN_DOMAINS = ("", "ai.onnx", "com.microsoft", "TRT", "trt", "ai.onnx.ml")
LARGEST_HALF = 65504.0
LARGEST_TOPK = 3840  # of TensorRT's
NAMED = 3
EVEN = 8  # channels that a tensor core takes at a time in FP16
SHARE_WORTH_SAYING = 0.05

_PASSED_OVER = (
    "Concat",
    "Transpose",
    "Reshape",
    "Slice",
    "Split",
    "Squeeze",
    "Unsqueeze",
    "Identity",
    "Mul",
    "Cast",
    "Gather",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know.

    Attributes:
        kind: a stable word.
        text: one line: what, where, what to do.
    """

    level: Level
    kind: str
    text: str


def findings(graph: Graph) -> tuple[Finding, ...]:
    """Return what there is to know of a graph, warnings first."""
    found = [finding for look in _LOOKS for finding in look(graph)]
    return tuple(sorted(found, key=lambda finding: finding.level != "warning"))


def _batch_norms(graph: Graph) -> Iterator[Finding]:
    nodes = list(graph.of("BatchNormalization"))
    behind = [node for node in nodes if (maker := graph.makers.get(node.inputs[0])) is not None and maker.op == "Conv"]
    if behind:
        yield Finding(
            "warning",
            "unfused_batch_norm",
            f"{len(behind)} BatchNormalization left behind a Conv ({_named(behind)}): each is a pass over memory "
            "where nobody fuses it, and spoils INT8; export in eval mode, which folds it into the Conv",
        )
    alone = [node for node in nodes if node not in behind]
    if alone:
        yield Finding(
            "hint", "batch_norm", f"{len(alone)} BatchNormalization without a Conv before it ({_named(alone)})"
        )


def _unmerged_branches(graph: Graph) -> Iterator[Finding]:
    found = list(branches(graph))
    if not found:
        return
    total = sum(flops(node, graph) or 0 for node in graph.nodes)
    saved = sum(each.saved_flops for each in found)
    share = f"{saved / total:.0%} of the FLOPs" if total else "their FLOPs"
    yield Finding(
        "warning",
        "not_reparameterised",
        f"{len(found)} blocks still have the parallel branches of training ({_named([each.at for each in found])}): "
        f"{share} and most of their memory traffic would go if each were one Conv; export the deploy form "
        "(YOLOv6: switch_to_deploy, YOLOv7: fuse, which merges RepConv)",
    )


def _nms(graph: Graph) -> Iterator[Finding]:
    nodes = list(graph.of(*NMS))
    if nodes:
        yield Finding(
            "warning",
            "nms_in_graph",
            f"NMS in the graph ({_named(nodes)}): its thresholds are fixed in the file, so nms.* and scores below them "
            "have no effect; export without it (Ultralytics: nms=False), the product's own runs on few candidates",
        )


def _captured(graph: Graph) -> Iterator[Finding]:
    kinds = {op: list(graph.of(op)) for op in UNCAPTURED}
    said = ", ".join(f"{len(nodes)} × {op} ({_named(nodes)})" for op, nodes in kinds.items() if nodes)
    if said:
        yield Finding(
            "warning",
            "not_capturable",
            f"{said}: what follows has a size that only the picture tells, so no CUDA graph can be captured and every "
            "frame waits for the host in between",
        )


def _open_outputs(graph: Graph) -> Iterator[Finding]:
    loose = [str(tensor) for tensor in graph.outputs if tensor.elements is None]
    if loose:
        yield Finding("warning", "open_output", f"the size of an output can't be worked out: {', '.join(loose)}")


def _foreign(graph: Graph) -> Iterator[Finding]:
    foreign = [node for node in graph.nodes if node.domain not in OWN_DOMAINS]
    if foreign:
        said = ", ".join(dict.fromkeys(f"{node.domain}.{node.op}" for node in foreign))
        yield Finding("warning", "foreign_op", f"operations that need a plugin: {said}; export without them")


def _slow(graph: Graph) -> Iterator[Finding]:
    for node in graph.of("TopK"):
        wanted = graph.weights.get(node.inputs[1]) if len(node.inputs) > 1 else None
        if wanted is not None and wanted.first is not None and wanted.first > LARGEST_TOPK:
            yield Finding(
                "warning",
                "topk",
                f"TopK {node} wants {wanted.first}, TensorRT gives {LARGEST_TOPK} at most: export less",
            )
    strided = [node for node in graph.of("Slice") if _steps(node, graph) > 1]
    if strided:
        yield Finding(
            "hint",
            "focus",
            f"{len(strided)} slices take every second pixel ({_named(strided)}), as in the first layer of old YOLOv5 "
            "and YOLOX: slow copies on a GPU; newer exports have a Conv there",
        )
    scattered = list(graph.of("ScatterND", "ScatterElements", "GatherND", "GridSample", "Einsum"))
    if scattered:
        yield Finding("hint", "slow_op", f"slow on a GPU: {_counted(scattered)}")


def _steps(node: Node, graph: Graph) -> int:
    weight = graph.weights.get(node.inputs[4]) if len(node.inputs) > 4 else None  # noqa: PLR2004 - ONNX's fifth
    return weight.first or 1 if weight is not None else 1


def _half(graph: Graph) -> Iterator[Finding]:
    large = [name for name, weight in graph.weights.items() if weight.most > LARGEST_HALF]
    if large:
        yield Finding(
            "warning",
            "too_large_for_fp16",
            f"{len(large)} constants are larger than FP16 holds ({_named(large)}): they become infinity; keep those "
            "layers in FP32",
        )
    tiny = {name: weight.tiny for name, weight in graph.weights.items() if weight.tiny}
    count = sum(tiny.values())
    total = sum(weight.tensor.elements or 0 for weight in graph.weights.values()) or 1
    if count / total > SHARE_WORTH_SAYING:
        yield Finding("hint", "too_small_for_fp16", f"{count / total:.0%} of the weights become 0 in FP16")
    carried = [name for name, weight in graph.weights.items() if weight.tensor.dtype == "float16"]
    if carried:
        yield Finding("hint", "carries_fp16", f"{len(carried)} weights are FP16: no flag is needed, the file says it")


def _int8(graph: Graph) -> Iterator[Finding]:
    pairs = [*graph.of("QuantizeLinear", "DequantizeLinear")]
    if not pairs:
        return
    yield Finding("hint", "carries_int8", f"{len(pairs)} QuantizeLinear and DequantizeLinear: the file says its INT8")
    zeros = [graph.weights.get(node.inputs[2]) for node in pairs if len(node.inputs) > 2]  # noqa: PLR2004 - zero point
    if any(zero is not None and not zero.all_zero for zero in zeros):
        yield Finding(
            "warning", "asymmetric", "zero points other than 0: TensorRT refuses them; quantise symmetrically, to int8"
        )
    biases = [node for node in pairs if node.op == "DequantizeLinear" and graph.tensor(node.inputs[0]).dtype == "int32"]
    if biases:
        yield Finding(
            "warning", "quantised_bias", f"{len(biases)} biases are INT32: TensorRT refuses them; QuantizeBias: False"
        )
    heads = [node for node in _last_sigmoids(graph) if _made_by(node, graph) == "DequantizeLinear"]
    if heads:
        yield Finding(
            "warning",
            "head_in_int8",
            f"the head's Sigmoid is in INT8 ({_named(heads)}): scores get 256 steps, small ones vanish; leave it out",
        )


def _shapes(graph: Graph) -> Iterator[Finding]:
    convs = [(node, graph.shape(node.inputs[1]), flops(node, graph) or 0) for node in graph.of("Conv")]
    total = sum(cost for _, _, cost in convs)
    depthwise = [node for node, weight, _ in convs if weight is not None and weight[1] == 1 and weight[0] > 1]
    if depthwise:
        yield Finding(
            "hint",
            "depthwise",
            f"{len(depthwise)} depthwise Conv ({_named(depthwise)}): bound by memory, so INT8 gains little there and "
            "can be slower; measure it",
        )
    uneven = [
        (node, cost)
        for node, weight, cost in convs
        if weight is not None and node not in depthwise and (weight[0] % EVEN or weight[1] % EVEN)
    ]
    share = sum(cost for _, cost in uneven) / total if total else 0.0
    if share > SHARE_WORTH_SAYING:
        yield Finding(
            "hint",
            "uneven_channels",
            f"{len(uneven)} Conv with channels no multiple of {EVEN} ({_named([node for node, _ in uneven])}): "
            f"{share:.0%} of the FLOPs on padded tensor cores",
        )


def _file(graph: Graph) -> Iterator[Finding]:
    if graph.elsewhere:
        yield Finding("warning", "weights_elsewhere", "some weights are in another file, not counted; export one file")


def _last_sigmoids(graph: Graph) -> Iterator[Node]:
    """Yield the Sigmoids whose numbers reach an output with nothing but moves and products in between."""
    waiting, seen = [tensor.name for tensor in graph.outputs], set[str]()
    while waiting:
        name = waiting.pop()
        maker = graph.makers.get(name)
        if maker is None or name in seen:
            continue
        seen.add(name)
        if maker.op == "Sigmoid":
            yield maker
        elif maker.op in (*_PASSED_OVER, "QuantizeLinear", "DequantizeLinear"):
            waiting += maker.inputs


def _made_by(node: Node, graph: Graph) -> str:
    maker = graph.makers.get(node.inputs[0])
    return "" if maker is None else maker.op


def _named(nodes: Sequence[Node | str]) -> str:
    names = [str(node) for node in nodes[:NAMED]]
    return ", ".join(names) + (" …" if len(nodes) > NAMED else "")


def _counted(nodes: Sequence[Node]) -> str:
    ops = [node.op for node in nodes]
    return ", ".join(f"{ops.count(op)} × {op}" for op in dict.fromkeys(ops))


_LOOKS: tuple[Callable[[Graph], Iterator[Finding]], ...] = (
    _batch_norms,
    _unmerged_branches,
    _nms,
    _captured,
    _open_outputs,
    _foreign,
    _slow,
    _half,
    _int8,
    _shapes,
    _file,
)
