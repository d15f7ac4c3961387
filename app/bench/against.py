"""Saves a line's stages as a baseline, and compares them with one; for people, and for CI by its exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from app.bench.baseline import Baseline, Measured, read, save
from app.bench.compare import Change, Compared, compare, is_settled, where_it_went
from app.bench.meter import Pass, one_pass

PASSES, MORE_PASSES, TRIES = 5, 5, 3
STYLES = {Change.SLOWER: "red", Change.FASTER: "green", Change.UNSURE: "yellow"}

OnePass = Callable[[], dict[str, Pass]]


def save_baseline(console: Console, line: Path, path: Path, passes: int = PASSES) -> Baseline:
    """Measure the line's stages and write them to a file."""
    found: list[dict[str, Pass]] = []
    _add(found, passes, lambda: one_pass(line), console)
    baseline = Baseline.of(line, found)
    save(baseline, path)
    console.print(_table(compare(baseline, baseline)))
    name, share = baseline.bottleneck
    console.print(f"bottleneck: {name}, {share:.0%} of the stages' time", highlight=False)
    console.print(f"saved: {path}", highlight=False, soft_wrap=True)
    return baseline


def compare_with_baseline(console: Console, line: Path, path: Path, slowed: Mapping[str, float] | None = None) -> int:
    """Measure the line's stages and print them beside those of a file.

    Args:
        console: gets the table.
        line: the configuration's file.
        path: a file that `--save` wrote.
        slowed: stages made slower on purpose, for trying out whether that is noticed.

    Returns:
        The exit code: 1 where a stage has become slower than chance explains, else 0.

    Raises:
        ConfigError: the file is no baseline.
    """
    then = read(path)
    now, rows = settle(then, line, lambda: one_pass(line, slowed), console)
    console.print(_table(rows))
    if then.machine.get("processor") != now.machine.get("processor"):
        console.print(
            f"the baseline is of another processor ({then.machine.get('processor')}): only large changes can be told; "
            "make one here with --save",
            highlight=False,
        )
    console.print(where_it_went(then, now), highlight=False)
    slower = [row.name for row in rows if row.verdict is Change.SLOWER]
    console.print(f"slower: {', '.join(slower)}" if slower else "no stage has become slower", highlight=False)
    return 1 if slower else 0


def settle(then: Baseline, line: Path, measure: OnePass, console: Console) -> tuple[Baseline, list[Compared]]:
    """Measure until nothing seems slower and nothing is unsure, or often enough to believe it."""
    found: list[dict[str, Pass]] = []
    for attempt in range(TRIES):
        _add(found, MORE_PASSES if attempt else PASSES, measure, console)
        now = Baseline.of(line, found)
        rows = compare(then, now)
        if is_settled(rows):
            break
    return now, rows


def _add(found: list[dict[str, Pass]], passes: int, measure: OnePass, console: Console) -> None:
    with console.status("") as status:
        for _ in range(passes):
            status.update(f"measuring, pass {len(found) + 1}")
            found.append(measure())


def _table(rows: list[Compared]) -> Table:
    table = Table(
        "stage", "in units of", "then", "now", "now, ms", "change", "tolerance", "", title="the stages of the line"
    )
    for column in table.columns[2:7]:
        column.justify = "right"
    for row in rows:
        known = row.now or row.then
        assert known is not None
        table.add_row(
            row.name,
            known.reference,
            _ratio(row.then),
            _ratio(row.now),
            f"{row.now.ms:.3f}" if row.now else "",
            f"{row.change:+.0%}",
            f"{row.tolerance:.0%}",
            row.verdict.value,
            style=STYLES.get(row.verdict, ""),
        )
    return table


def _ratio(measured: Measured | None) -> str:
    return "" if measured is None else f"{measured.ratio:.3f} ± {measured.ratio * measured.error:.3f}"
