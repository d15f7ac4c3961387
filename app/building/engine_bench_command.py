"""`taktsight engine bench`: from a file to a table, and to a sentence that says which batch to use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from app.building.batch_advice import Load, Measured, Room, advice, room_of, seed_advice
from app.building.engine_bench import Row, Subject, best_by_batch, measure
from app.building.verify_candidate import checked_device
from app.config.sections import Model
from app.errors import ModelError, TaktsightError
from app.inference.engine_file import Manifest, read_engine
from app.inference.machine import find_gpu
from app.inference.tensorrt_module import find_tensorrt

QUIET = 0.3
"""Load for each CPU, up to which figures are worth keeping."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to measure.

    Attributes:
        model: an .onnx file or an engine.
        batches: the sizes to compare.
        device: of an .onnx file.
        threads: of the CPU; None: one for each that is allowed.
        input_wh: pixels, for models that leave their size open.
        seconds: for each way and batch.
        load: what the cameras ask for; None gives no advice for it.
        json_file: where the figures go, too.
    """

    model: Path
    batches: tuple[int, ...] = (1, 2, 4, 8)
    device: str = "cpu"
    threads: int | None = None
    input_wh: tuple[int, int] | None = None
    seconds: float = 3.0
    load: Load | None = None
    json_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """What was measured, and what it means."""

    rows: tuple[Row, ...]
    room: Room | None
    note: str = ""

    @property
    def measured(self) -> list[Measured]:
        """The fastest way of each batch."""
        return [Measured(row.batch, row.whole.p50, row.whole.p99) for row in best_by_batch(self.rows)]

    def sentences(self, load: Load | None) -> list[str]:
        """Say which batch to use."""
        said = [self.note, seed_advice(self.measured, self.room)]
        said += [] if load is None else [advice(self.measured, load, self.room)]
        return [text for text in said if text]


def run_bench(wanted: Wanted, console: Console) -> Bench:
    """Measure, with a bar that shows how far it is.

    Raises:
        TaktsightError: the file can't be run, or can't be written.
    """
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    busy = busy_note(os.getloadavg()[0], os.cpu_count() or 1)
    with Progress(*columns, console=console, transient=True) as progress:
        bench = _onnx(wanted, progress) if wanted.model.suffix == ".onnx" else _engine(wanted, progress)
    bench = replace(bench, note="; ".join(filter(None, (bench.note, busy))))
    if wanted.json_file is not None:
        _write(wanted.json_file, bench, wanted.load)
    return bench


def busy_note(load: float, cpus: int) -> str:
    """Say that something else ran meanwhile, from the load average before it began; "" where nothing much did."""
    if load <= cpus * QUIET:
        return ""
    return f"the machine was busy before it began (load {load:.1f} on {cpus} CPUs): measure again when it is quiet"


def show_bench(bench: Bench, load: Load | None, console: Console) -> None:
    """Print the table and the advice."""
    names = ["batch", "way", "runs", "p50 ms", "p99 ms", "ms a picture", "pictures/s"]
    apart = any(row.gpu is not None for row in bench.rows)
    names += ["enqueue ms", "GPU ms", "beyond the GPU ms"] if apart else []
    table = Table(*names)
    table.columns[1].no_wrap = True
    for column in (table.columns[0], *table.columns[2:]):
        column.justify = "right"
    for row in sorted(bench.rows, key=lambda row: (row.batch, row.way)):
        table.add_row(*_cells(row, apart=apart))
    console.print(table)
    for text in bench.sentences(load):
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def _cells(row: Row, *, apart: bool) -> list[str]:
    whole = row.whole
    cells = [str(row.batch), row.way, str(whole.count), f"{whole.p50:.2f}", f"{whole.p99:.2f}"]
    cells += [f"{whole.p50 / row.batch:.2f}", f"{row.pictures_per_s:,.0f}"]
    if not apart:
        return cells
    parts = (row.enqueue, row.gpu)
    return [*cells, *("" if part is None else f"{part.p50:.3f}" for part in parts), _beyond(row)]


def _beyond(row: Row) -> str:
    return "" if row.overhead_ms is None else f"{row.overhead_ms:.3f}"


Ways: TypeAlias = Callable[[], AbstractContextManager[list[Subject]]]


def _onnx(wanted: Wanted, progress: Progress) -> Bench:
    from app.building import engine_bench_onnx as onnx  # noqa: PLC0415 - needs ONNX Runtime

    info = onnx.read_for_bench(wanted.model)
    sizes, note = onnx.batches_of(info, wanted.batches)
    section = Model.model_validate(
        {"path": str(wanted.model), "device": checked_device(wanted.device), "threads": wanted.threads}
    )
    room = onnx.room_for(info, wanted.device, wanted.input_wh)
    ways: dict[int, Ways] = {size: partial(onnx.onnx_subjects, info, section, size, wanted.input_wh) for size in sizes}
    return Bench(tuple(bench_all(ways, wanted.seconds, progress)), room, note)


def _engine(wanted: Wanted, progress: Progress) -> Bench:
    file = read_engine(wanted.model)
    sizes, note = engine_batches(file.manifest, wanted.batches)
    if find_gpu() is None:  # PyCUDA can't even be imported without a driver
        raise ModelError(
            f"{wanted.model}: there is no NVIDIA GPU with a driver here, and an engine runs on nothing else"
        )
    from app.building.engine_bench_tensorrt import tensorrt_subjects  # noqa: PLC0415 - needs PyCUDA

    find = partial(find_tensorrt, file.manifest.built_on.runtime)
    ways: dict[int, Ways] = {
        size: partial(tensorrt_subjects, file.plan, shapes_of(file.manifest, size), find, str(wanted.model))
        for size in sizes
    }
    free, used = _free(), dict[int, int]()

    def loaded(batch: int) -> None:
        used[batch] = max(free - _free(), 0)

    rows = tuple(bench_all(ways, wanted.seconds, progress, loaded))
    return Bench(rows, room_of(free, used) if free and any(used.values()) else None, note)


def bench_all(
    ways: Mapping[int, Ways], seconds: float, progress: Progress, loaded: Callable[[int], None] = lambda batch: None
) -> Iterator[Row]:
    """Measure batch after batch, each loaded on its own; the ways of one batch in turns."""
    task = progress.add_task("", total=len(ways))
    for number, (batch, enter) in enumerate(ways.items()):
        progress.update(task, description=f"batch {batch}: loading", completed=number)
        with enter() as subjects:
            loaded(batch)
            progress.update(task, description=f"batch {batch}: measuring")
            yield from measure(subjects, seconds, partial(_advance, progress, task, number))


def _advance(progress: Progress, task: TaskID, number: int, share: float) -> None:
    progress.update(task, completed=number + share)


def engine_batches(manifest: Manifest, asked: Sequence[int]) -> tuple[tuple[int, ...], str]:
    """Return which of the batches that are asked for an engine takes, and a note where that is not all of them.

    Raises:
        ModelError: it takes none of them.
    """
    takes = [size for size in sorted(set(asked)) if _takes(manifest, size)]
    ranges = "; ".join(f"{tensor.name} {' or '.join(map(str, tensor.ranges))}" for tensor in manifest.inputs)
    if not takes:
        raise ModelError(f"the engine takes {ranges}, none of --batch {','.join(map(str, asked))}")
    left = [str(size) for size in asked if size not in takes]
    return tuple(takes), f"batch {', '.join(left)} left out: the engine takes {ranges}" if left else ""


def shapes_of(manifest: Manifest, batch: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of an engine's inputs for one batch, the rest as it was built to be fastest."""
    return {
        tensor.name: next(
            ((batch, *span.best[1:]) for span in tensor.ranges if span.takes((batch, *span.best[1:]))),
            (batch, *tensor.ranges[0].best[1:]),
        )
        for tensor in manifest.inputs
    }


def _takes(manifest: Manifest, batch: int) -> bool:
    shapes = shapes_of(manifest, batch)
    return all(any(span.takes(shapes[tensor.name]) for span in tensor.ranges) for tensor in manifest.inputs)


def _free() -> int:
    gpu = find_gpu()
    return 0 if gpu is None else gpu.free_bytes or 0


def _write(path: Path, bench: Bench, load: Load | None) -> None:
    tree: dict[str, Any] = {
        "rows": [asdict(row) | {"pictures_per_s": row.pictures_per_s} for row in bench.rows],
        "room": None if bench.room is None else asdict(bench.room) | {"seed": bench.room.seed},
        "says": bench.sentences(load),
    }
    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(tree), indent=2) + b"\n")
    except OSError as error:
        raise TaktsightError(f"{path}: can't be written: {error.strerror}; choose another --json") from error
