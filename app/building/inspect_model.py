"""`engine inspect` of an .onnx file: what it is, what it costs, what to know of it."""

from __future__ import annotations

import importlib.util
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.building.inspect_cost import Memory, OpCost, memory, op_costs, uncounted
from app.building.inspect_findings import Finding, findings
from app.building.inspect_graph import Tensor
from app.config import sections
from app.decode.family import detect_family
from app.errors import ModelError, TaktsightError
from app.inference.model_file import read_model
from app.model import ModelInfo
from app.preprocess.input_spec import InputSpec, input_spec

USUAL_WH = (640, 640)
"""What is taken where a file leaves its size open and nobody names one."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is known of a model without running it.

    Attributes:
        kind: how pictures must be given to it, in words; "" where the product can't tell.
        family: the head's layout; "" where the product can't tell.
        names: its classes.
    """

    path: Path
    sha256: str
    size_bytes: int
    opset: int
    producer: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    kind: str
    family: str
    names: tuple[str, ...]
    ops: tuple[OpCost, ...]
    memory: Memory
    findings: tuple[Finding, ...]

    @property
    def flops(self) -> int:
        """Of all operations, for one picture: two for each multiply-add."""
        return sum(row.flops for row in self.ops)

    @property
    def params(self) -> int:
        """Of all operations."""
        return sum(row.params for row in self.ops)

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        tree = asdict(self) | {"path": str(self.path), "flops": self.flops, "params": self.params}
        for side in ("inputs", "outputs"):
            for tensor in tree[side]:
                tensor["shape"] = None if tensor["shape"] is None else list(tensor["shape"])
        return tree


def inspect_model(path: Path, input_wh: tuple[int, int] | None = None) -> Inspection:
    """Look into an .onnx file.

    Args:
        path: of the file.
        input_wh: pixels, for models that leave their size open.

    Raises:
        ModelError: it is no ONNX file, or the package `onnx` is missing.
    """
    if importlib.util.find_spec("onnx") is None:
        raise ModelError("inspecting a model needs the package onnx: pip install 'taktsight[build]'")
    from app.building.inspect_read import read_onnx  # noqa: PLC0415 - onnx may be missing on a device

    info, spec, family, doubts = _as_the_product_sees_it(path, input_wh)
    graph = read_onnx(path, _shapes(info, spec, input_wh))
    unknown = uncounted(graph)
    if unknown:
        doubts.append(Finding("warning", "uncounted", f"{len(unknown)} operations of unknown shape are not counted"))
    return Inspection(
        path,
        info.sha256,
        path.stat().st_size,
        graph.opset,
        graph.producer,
        graph.inputs,
        graph.outputs,
        "" if spec is None else _kind(spec),
        family,
        info.names or (),
        op_costs(graph),
        memory(graph),
        tuple(sorted((*doubts, *findings(graph)), key=lambda finding: finding.level != "warning")),
    )


def _as_the_product_sees_it(
    path: Path, input_wh: tuple[int, int] | None
) -> tuple[ModelInfo, InputSpec | None, str, list[Finding]]:
    """Return what the product would make of the file; what it could not run is still worth a look."""
    info = read_model(path)
    doubts = [Finding("warning", "product", text) for text in info.warnings]
    family, spec = None, None
    try:
        family = detect_family(info, sections.Decode())[0]
    except TaktsightError as error:
        doubts.append(Finding("warning", "family", str(error)))
    size = sections.Input() if input_wh is None else sections.Input(width=input_wh[0], height=input_wh[1])
    try:
        spec = input_spec(info, size, family)
    except TaktsightError as error:
        doubts.append(Finding("warning", "input", f"{error} (here: --input)"))
    return info, spec, "" if family is None else family.value, doubts


def _shapes(info: ModelInfo, spec: InputSpec | None, input_wh: tuple[int, int] | None) -> dict[str, tuple[int, ...]]:
    """Return the shapes that fill open axes: one picture, of the size that is told or usual."""
    shapes = {}
    for tensor in info.inputs:
        if len(tensor.shape) != 4:  # noqa: PLR2004 - batch, colours, rows, columns
            shapes[tensor.name] = tuple(axis or 1 for axis in tensor.shape)
            continue
        width, height = input_wh or (USUAL_WH if spec is None else spec.network_wh)
        last = tensor.shape[3] in (1, 3) and tensor.shape[1] not in (1, 3)
        picture = (1, height, width, 3) if last else (1, 3, height, width)
        shapes[tensor.name] = tuple(axis or own for axis, own in zip(tensor.shape, picture, strict=True))
    return shapes


def _kind(spec: InputSpec) -> str:
    values = "0…255" if spec.scale == 1 else f"0…{255 * spec.scale:g}"
    where = "top left" if spec.top_left else "centred"
    batch = f"{spec.batch} pictures at a time" if spec.batch > 1 else "a picture"
    return (
        f"{batch} of {spec.width} × {spec.height}, {spec.colour}, {spec.dtype} {values}, {spec.layout}, "
        f"letterbox {where}, padding {spec.pad_value}"
    )
