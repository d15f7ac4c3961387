"""The lines of a bench as a table, what was asked beside what was measured."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from app.bench.row import Row


def table(rows: Iterable[Row], title: str = "taktsight bench") -> Table:
    """Return the rows as a table, a line between parts."""
    shown = Table("", "", "median ms", "least ms", "got", "asked", "", title=title)
    for column in shown.columns[2:6]:
        column.justify = "right"
    part = ""
    for row in rows:
        if part not in ("", row.part):
            shown.add_section()
        shown.add_row(
            row.part if row.part != part else "",
            row.what,
            _ms(row.median_ms),
            _ms(row.least_ms),
            row.got,
            row.target,
            {True: "[green]met[/]", False: "[red]missed[/]", None: ""}[row.met],
        )
        part = row.part
    return shown


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
