"""Where the times come from: files of the benches, or a measurement made now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from app.building.batch_advice import Measured
from app.errors import ConfigError

FRAME = "everything: preprocess to encoded message"
"""The row of `taktsight bench --json` that says what a frame takes without its engine."""

BATCHES = (1, 2, 4, 8)


def engine_times(path: Path, console: Console, seconds: float) -> tuple[Measured, ...]:
    """Return how long a model's batches take: of a file of `taktsight engine bench --json`, or measured now.

    Args:
        path: .json, .onnx or .engine.
        console: gets the progress.
        seconds: to measure each batch.

    Raises:
        ConfigError: the file is none of these.
        ModelError: the model can't be measured.
    """
    if path.suffix == ".json":
        return tuple(_rows(_tree(path), path))
    from app.building.engine_bench_command import Wanted, run_bench  # noqa: PLC0415 - only where something is measured

    return tuple(run_bench(Wanted(path, BATCHES, seconds=seconds), console).measured)


def frame_time(path: Path) -> float:
    """Return what a frame takes without its engine, in milliseconds, of a file of `taktsight bench --json`.

    Raises:
        ConfigError: the file is no such one.
    """
    rows = _tree(path).get("rows")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("what") == FRAME and isinstance(row.get("median_ms"), float | int):
            return float(row["median_ms"])
    raise ConfigError(f"{path}: has no row {FRAME!r}: write it with `taktsight bench --json {path.name}`")


def _tree(path: Path) -> Mapping[str, Any]:
    try:
        tree = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise ConfigError(f"{path}: is no JSON: {error}") from error
    if not isinstance(tree, dict):
        raise ConfigError(f"{path}: is no file of a bench: write one with --json")
    return tree


def _rows(tree: Mapping[str, Any], path: Path) -> Sequence[Measured]:
    """Return the fastest way of each batch, the smallest first."""
    best: dict[int, Measured] = {}
    try:
        for row in tree["rows"]:
            one = Measured(int(row["batch"]), float(row["whole"]["p50"]), float(row["whole"]["p99"]))
            if one.batch not in best or one.p50_ms < best[one.batch].p50_ms:
                best[one.batch] = one
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"{path}: holds no times of an engine: write it with `taktsight engine bench MODEL --json {path.name}`"
        ) from error
    if not best or min(one.p50_ms for one in best.values()) <= 0:
        raise ConfigError(f"{path}: holds no times of an engine: it was measured for no time at all")
    return [best[batch] for batch in sorted(best)]
