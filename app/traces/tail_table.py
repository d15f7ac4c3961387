"""The tail as tables on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.traces.colours import TERMINAL
from app.traces.tail import Tail
from app.traces.words import absent, coincidence_line, headline, sample_note

BAR = 24
WORST = 5


def print_tail(tail: Tail, console: Console) -> None:
    """Print the slowest frames against the others, who makes the tail, and what fell together with it."""
    console.print(stage_table(tail))
    console.print(headline(tail), style="bold", highlight=False)
    if note := sample_note(tail):
        console.print(note, highlight=False)
    if tail.found:
        console.print(event_table(tail))
    for one in tail.found:
        console.print(coincidence_line(one, len(tail.slow)), highlight=False, style="bold" if one.is_telling else "")
    if note := absent(tail):
        console.print(note, highlight=False, style="dim")
    names = ", ".join(f"{timing.trace_id} ({timing.total_ms:.1f} ms)" for timing in tail.slow[:WORST])
    console.print(f"the slowest: {names}", highlight=False, soft_wrap=True)


def stage_table(tail: Tail) -> Table:
    """Return what each stage took in the slow frames and in the others."""
    table = Table(
        title=f"milliseconds by stage: the slowest {len(tail.slow)} of {tail.frames} frames", title_justify="left"
    )
    table.add_column("stage")
    for heading in ("normal (median)", "slow (median)", "longer (mean)", "share", "worst in"):
        table.add_column(heading, justify="right")
    table.add_column("", width=BAR)
    for excess in tail.excesses:
        is_culprit = tail.culprit is not None and excess.part == tail.culprit.part
        bar = Text("█" * round(BAR * excess.share), style=TERMINAL[excess.part])
        table.add_row(
            excess.part,
            f"{excess.normal_ms:.1f}",
            f"{excess.slow_ms:.1f}",
            f"{excess.excess_ms:+.1f}",
            f"{excess.share:.0%}",
            str(excess.made),
            bar,
            style="bold" if is_culprit else "",
        )
    table.add_section()
    table.add_row("total", f"{tail.normal_ms:.1f}", f"{tail.slow_ms:.1f}", "", "", "", "", style="bold")
    return table


def event_table(tail: Tail) -> Table:
    """Return how often something happened during slow frames and during the others."""
    table = Table(title="share of frames during which it happened", title_justify="left")
    table.add_column("what")
    for heading in ("events", "slow frames", "normal frames", "by chance"):
        table.add_column(heading, justify="right")
    for one in tail.found:
        table.add_row(
            one.label,
            str(one.events),
            f"{one.slow:.0%}",
            f"{one.normal:.0%}",
            f"{one.chance:.0%}",
            style="bold" if one.is_telling else "",
        )
    return table
