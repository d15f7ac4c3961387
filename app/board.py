"""What the demo shows: a live table of parts with their times, and what a subscriber receives."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from threading import Lock

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from app.latency.recorder import TOTAL, Row
from app.trace import COLUMNS
from app.verdict import Outcome, Verdict

STYLES = {Verdict.OK: "green", Verdict.NG: "bold red", Verdict.UNKNOWN: "yellow"}
HEADINGS = dict(zip(COLUMNS, ("capture", "wait", "prep", "infer", "post", "net", "shown"), strict=True))
ROWS = 10
RECEIVED = 4


class Board:
    """Collects what happens and draws it; safe to call from any thread.

    Args:
        budget_ms: the camera's budget.
        shares_ms: what each stage may take of it.
    """

    def __init__(self, budget_ms: float, shares_ms: Mapping[str, float]) -> None:
        self._lock = Lock()
        self.budget_ms = budget_ms
        self.shares_ms = shares_ms
        self._received: deque[Text] = deque(maxlen=RECEIVED)
        self.outcomes: list[Outcome] = []

    def judged(self, outcome: Outcome) -> None:
        """Take one verdict; its later times fill in as they become known. A second revision replaces the first."""
        with self._lock:
            if outcome.rev > 1:
                self.outcomes = [one for one in self.outcomes if one.trace_id != outcome.trace_id]
            self.outcomes.append(outcome)

    def parts(self) -> list[Outcome]:
        """Return what was said of each part at last; frames that were late and of no part are left out."""
        with self._lock:
            return [outcome for outcome in self.outcomes if outcome.part is not None]

    def receive(self, line: Text) -> None:
        """Take one line that a subscriber would see."""
        with self._lock:
            self._received.append(line)

    def draw(self) -> RenderableType:
        """Return the table of the last parts and the last received messages."""
        with self._lock:
            outcomes, received = self.outcomes[-ROWS:], list(self._received)
        table = parts_table(self.budget_ms, self.shares_ms)
        for outcome in outcomes:
            table.add_row(*part_cells(outcome, self.shares_ms))
        panel = Panel(
            Group(*(Text.assemble(line, no_wrap=True, overflow="ellipsis") for line in received)),
            title="what a subscriber receives over MQTT",
            title_align="left",
            height=RECEIVED + 2,
        )
        return Group(table, panel)


def parts_table(budget_ms: float, shares_ms: Mapping[str, float]) -> Table:
    """Return an empty table with a column for every stage, and what it may take of the budget above it."""
    title = "covers line: milliseconds by stage, and what each may take of the budget"
    table = Table(title=title, title_justify="left", expand=True)
    table.add_column("part", justify="right", width=4)
    table.add_column("verdict", width=7)
    table.add_column("reason", no_wrap=True, overflow="ellipsis", ratio=1)
    allowed_ms = {HEADINGS[stage]: share for stage, share in shares_ms.items()} | {"total": budget_ms}
    for heading in (*HEADINGS.values(), "total"):
        limit = f"≤ {allowed_ms[heading]:.0f}" if heading in allowed_ms else ""
        table.add_column(f"{heading}\n{limit}", justify="right", no_wrap=True, width=max(5, len(heading)))
    return table


def part_cells(outcome: Outcome, shares_ms: Mapping[str, float]) -> list[Text | str]:
    """Return one part's row; a stage that is not over yet is a dot, one that took more than its share is red."""
    verdict = outcome.judgement.verdict
    columns_ms = outcome.trace.columns_ms()
    total_ms = sum(spent or 0.0 for name, spent in columns_ms.items() if name != "presentation")
    late = "bold red" if total_ms > outcome.budget_ms else ""
    notes = ["late, UNKNOWN was said before"] * outcome.late
    notes += [f"level {outcome.level}"] * (outcome.level not in ("full", "late"))
    return [
        f"#{outcome.seq}" if outcome.part is None else str(outcome.part),
        Text(verdict.value, STYLES[verdict]),
        "; ".join([*(reason.text for reason in outcome.judgement.reasons), *notes]),
        *(_stage_cell(spent, shares_ms.get(name)) for name, spent in columns_ms.items()),
        Text(f"{total_ms:.1f}", late),
    ]


def _stage_cell(spent_ms: float | None, share_ms: float | None) -> Text:
    if spent_ms is None:
        return Text("·")
    return Text(f"{spent_ms:.1f}", "red" if share_ms is not None and spent_ms > share_ms else "")


def summary_table(rows: Iterable[Row], allowed_ms: Mapping[str, float]) -> Table:
    """Return the percentiles by stage, nearest rank, with the number of samples and what is allowed beside them."""
    table = Table(title="milliseconds by stage", title_justify="left")
    for heading in ("stage", "allowed", "p50", "p95", "p99", "max", "samples"):
        table.add_column(heading, justify="left" if heading == "stage" else "right")
    for row in rows:
        p = row.percentiles
        style = "bold" if row.column == TOTAL else ""
        allowed = f"{allowed_ms[row.column]:.0f}" if row.column in allowed_ms else ""
        figures = [f"{value:.1f}" for value in (p.p50, p.p95, p.p99, p.max)]
        table.add_row(row.column, allowed, *figures, str(p.count), style=style)
    return table
