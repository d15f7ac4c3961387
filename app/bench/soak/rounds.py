"""What a soak's memory, files and threads were in each round: what is needed to judge whether they grow."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rich.table import Table

from app.bench.soak.checks import MB
from app.bench.soak.run import Found
from app.bench.soak.samples import Sample, at_rest

NONE = "-"


def table_of_rounds(found: Found) -> Table:
    """Return one row a round, of the looks while no fault lasted; the first is the warm-up."""
    shown = Table(title="at rest, round by round; the first is the warm-up", title_justify="left")
    for head in ("round", "s", "least MB", "median", "most", "files", "threads", "waiting", "load"):
        shown.add_column(head, justify="right")
    for head in ("Python's blocks", "given out MB", "kept MB"):
        shown.add_column(head, justify="right")
    told = [line for line in found.log if line.get("event") == "memory"]
    for number, seen in at_rest(found.samples, found.plan).items():
        shown.add_row(*_of_samples(number, seen), *_of_log(told[number] if number < len(told) else {}))
    return shown


def _of_samples(number: int, seen: Sequence[Sample]) -> list[str]:
    memory = [sample.rss_bytes / MB for sample in seen]
    waiting = [sample.waiting for sample in seen if sample.waiting is not None]
    return [
        f"{number + 1}",
        f"{seen[0].at_s:.0f} to {seen[-1].at_s:.0f}",
        *(f"{of(memory):.1f}" for of in (min, median, max)),
        f"{median(sample.files for sample in seen):g}",
        f"{median(sample.threads for sample in seen):g}",
        f"{max(waiting)}" if waiting else NONE,
        f"{median(sample.load for sample in seen):.1f}",
    ]


def _of_log(line: dict[str, object]) -> list[str]:
    """What the line says of its own memory at the beginning of a round; the C library's figures where it has them."""
    return [
        f"{line['blocks']}" if "blocks" in line else NONE,
        *(f"{int(str(line[key])) / MB:.1f}" if key in line else NONE for key in ("in_use", "kept")),
    ]
