"""Runs the tests marked `gpu` and all measurements on the GPU that is here, and shows what was asked beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from time import monotonic_ns
from typing import TypeAlias

from rich.console import Console

from app.bench import machine
from app.bench.device import gpu_tests, onnx
from app.bench.device.sizes import FULL, Sizes
from app.bench.device.there import NO_GPU, refusal
from app.bench.row import Row
from app.bench.row_table import table

MODEL = gpu_tests.ROOT / "engines" / "covers_640.onnx"
AT_MOST_S = 8 * 60
Measured: TypeAlias = Callable[[Sizes, Path], tuple[dict[str, str], list[Row]]]


def main(
    console: Console,
    *,
    sizes: Sizes = FULL,
    folder: Path,
    json_file: Path | None = None,
    model: Path = MODEL,
    tests: Callable[[Path], Row] = gpu_tests.row,
    measured: Measured | None = None,
) -> int:
    """Check this machine's GPU.

    Args:
        console: gets the machine, the table and the sum.
        sizes: of pictures and copies, and how often.
        folder: of compiled kernels.
        json_file: gets machine and rows.
        model: for the part about ONNX Runtime.
        tests: runs the tests marked `gpu` with the compiled kernels.
        measured: measures on the GPU; None: `measure.on_gpu`.

    Returns:
        The exit code: 0 where all is as asked, 1 where something is not, 3 where there is no GPU.
    """
    refused = refusal()
    if refused is not None:
        console.print(refused, highlight=False, soft_wrap=True)
        return NO_GPU
    measured = measured or _on_gpu()
    began_ns = monotonic_ns()
    with console.status("running the tests marked gpu"):
        rows = [tests(folder)]
    with console.status("measuring"):
        found_on, more = measured(sizes, folder)
        rows += more
        rows += onnx.rows(model, sizes.rounds)
    rows.append(_whole((monotonic_ns() - began_ns) / 1e9))
    return _show(console, {**machine.describe(), **found_on}, rows, json_file)


def _whole(took_s: float) -> Row:
    """Return the row of the check's own time: who lends a GPU lends it for minutes."""
    return Row("gpu_check", "all of it", got=f"{took_s:.0f} s", target=f"< {AT_MOST_S} s", met=took_s < AT_MOST_S)


def _on_gpu() -> Measured:
    """Return the measurements; here, because PyCUDA can't be imported where there is no driver."""
    from app.bench.device.measure import on_gpu  # noqa: PLC0415

    return on_gpu


def _show(console: Console, found_on: dict[str, str], rows: Iterable[Row], json_file: Path | None) -> int:
    rows = list(rows)
    console.print(", ".join(f"{key} {value}" for key, value in found_on.items()), highlight=False, soft_wrap=True)
    console.print(table(rows, "gpu_check"))
    missed, asked = sum(row.met is False for row in rows), sum(row.met is not None for row in rows)
    console.print(f"{asked - missed} of {asked} targets met", highlight=False)
    if json_file is not None:
        report = {"machine": found_on, "rows": [asdict(row) for row in rows]}
        json_file.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if missed else 0
