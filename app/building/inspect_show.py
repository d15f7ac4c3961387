"""Prints what `engine inspect` found, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from app.building.inspect_engine import EngineInspection, Loaded
from app.building.inspect_findings import Finding
from app.building.inspect_model import Inspection

_NAMES_SHOWN = 12
_COLOURS = {"warning": "yellow", "hint": "dim"}


def show_model(found: Inspection, console: Console) -> None:
    """Print what is known of an .onnx file."""
    _facts(
        console,
        {
            "file": f"{found.path}, {found.size_bytes:,} bytes, SHA-256 {found.sha256[:12]}",
            "made by": f"{found.producer or 'nobody says'}, opset {found.opset}",
            "in": "; ".join(str(tensor) for tensor in found.inputs),
            "out": "; ".join(str(tensor) for tensor in found.outputs),
            "takes": found.kind or "not known",
            "gives": f"{found.family or 'a layout that is not known'}; {_classes(found.names)}",
            "costs": f"{amount(found.flops)}FLOPs a picture, {amount(found.params).strip()} parameters",
            "memory": f"{amount(found.memory.weights)}B weights, {amount(found.memory.activations)}B activations for a "
            f"picture at most (at {found.memory.at}, nothing fused)",
        },
    )
    table = Table("operation", "count", "FLOPs", "share", "parameters")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in found.ops:
        share = f"{row.flops / found.flops:.1%}" if found.flops and row.flops else ""
        table.add_row(row.op, str(row.count), amount(row.flops), share, amount(row.params))
    console.print(table)
    console.print("FLOPs: two for each multiply-add of convolutions and matrix products.", style="dim")
    _findings(found.findings, console)


def show_engine(found: EngineInspection, console: Console) -> None:
    """Print what is known of an engine."""
    facts = {"file": f"{found.path}, {found.size_bytes:,} bytes"}
    if found.header is not None:
        facts["header"] = f"Ultralytics: {', '.join(f'{key} {value}' for key, value in found.header.items())}"
    if found.manifest is not None:
        built = found.manifest.built_on
        facts |= {
            "model": f"{found.manifest.onnx} {found.manifest.onnx_sha256[:12]}",
            "precision": found.manifest.precision,
            "for": f"{built.runtime} {built.runtime_version}, {built.gpu or 'any device'} of compute capability "
            f"{', '.join(found.manifest.compute_capabilities)}, CUDA {built.cuda or '?'}, driver {built.driver or '?'}",
            "takes": "; ".join(
                f"{tensor.name} {' or '.join(str(span) for span in tensor.ranges)} {tensor.dtype}"
                for tensor in found.manifest.inputs
            ),
            "options": ", ".join(f"{name} {value}" for name, value in found.manifest.options.items()),
            "built": found.manifest.built_at,
        }
        if found.manifest.verified is not None:
            verified = found.manifest.verified
            figures = ", ".join(f"{name} {value:g}" for name, value in verified.figures.items())
            facts["verified"] = f"on {verified.pictures} pictures: {figures}"
    _facts(console, facts)
    if found.loaded is not None:
        _loaded(found.loaded, console)
    _findings(found.findings, console)


def amount(number: int) -> str:
    """Return a number with its power in a letter: 1.53 G, 595 k."""
    for letter, power in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= power:
            return f"{number / power:.3g} {letter}"
    return f"{number} "


def _facts(console: Console, facts: dict[str, str]) -> None:
    table = Table(show_header=False, box=None, padding=(0, 1))
    for name, value in facts.items():
        table.add_row(name, value)
    console.print(table)


def _classes(names: Sequence[str]) -> str:
    if not names:
        return "classes without names"
    shown = ", ".join(names[:_NAMES_SHOWN])
    return f"{len(names)} classes: {shown}{' …' if len(names) > _NAMES_SHOWN else ''}"


def _loaded(loaded: Loaded, console: Console) -> None:
    table = Table("tensor", "", "type", "shape", "least / best / most")
    for tensor in loaded.tensors:
        spans = "; ".join(" / ".join("×".join(map(str, shape)) for shape in profile) for profile in tensor.profiles)
        table.add_row(tensor.name, tensor.mode, tensor.dtype, "×".join(map(str, tensor.shape)), spans)
    console.print(table)
    kinds = Counter((layer.kind or "layer", layer.precision) for layer in loaded.layers)
    layers = Table("layers", "precision", "count")
    for (kind, precision), count in kinds.most_common():
        layers.add_row(kind, precision, str(count))
    console.print(layers)
    memory = "" if loaded.memory_bytes is None else f", {amount(loaded.memory_bytes)}B for activations"
    console.print(f"{loaded.runtime}: {len(loaded.layers)} layers{memory}", highlight=False)


def _findings(found: Iterable[Finding], console: Console) -> None:
    for finding in found:
        console.print(f"[{_COLOURS[finding.level]}]{finding.level}[/] ", end="")
        console.print(f"{finding.kind}: {finding.text}", markup=False, highlight=False, soft_wrap=True)
