"""Runs every part of the bench and shows what was asked beside what was measured."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from app.bench import allocation, decode, formats, letterbox, log_cost, machine, overhead, pictures
from app.bench.row_table import table

ROUNDS, QUICK_ROUNDS = 60, 3
FRAMES, QUICK_FRAMES = 1000, 20
MODEL = Path("engines/covers_640.onnx")


def main(console: Console, *, quick: bool = False, json_file: Path | None = None, model: Path = MODEL) -> int:
    """Measure, print, and write a file where asked.

    Args:
        console: gets the machine, the table and the sum.
        quick: few rounds: to see that it works, not to quote.
        json_file: gets machine and rows.
        model: the engine of the part about inference.

    Returns:
        The exit code: 0 where every target was met, 1 where one was not.

    Raises:
        ModelError: the model file can't be used.
    """
    rounds, frames = (QUICK_ROUNDS, QUICK_FRAMES) if quick else (ROUNDS, FRAMES)
    found_on = machine.describe()
    console.print(", ".join(f"{key} {value}" for key, value in found_on.items()), highlight=False)
    with console.status("measuring"):
        rows = [
            *letterbox.rows(rounds),
            *formats.rows(rounds),
            *decode.rows(rounds),
            *overhead.rows(frames // 2),
            *log_cost.rows(frames),
            *allocation.rows(frames, model),
            *pictures.rows(rounds),
        ]
    console.print(table(rows))
    missed = sum(row.met is False for row in rows)
    asked = sum(row.met is not None for row in rows)
    console.print(f"{asked - missed} of {asked} targets met", highlight=False)
    if json_file is not None:
        report = {"machine": found_on, "rounds": rounds, "frames": frames, "rows": [asdict(row) for row in rows]}
        json_file.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if missed else 0
