"""A replay as tables, and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from app.replay.compare import Differences, Kind, Replayed

FORMAT = 1
MOST_ROWS = 40


def show(found: Differences, console: Console) -> None:
    """Print what differs: verdicts first, then classes, then the sums."""
    shown = [*found.of(Kind.FLIPPED), *found.of(Kind.FIRST)]
    if shown:
        console.print(_pictures(shown[:MOST_ROWS]))
    if len(shown) > MOST_ROWS:
        console.print(f"and {len(shown) - MOST_ROWS} more", style="dim")
    if found.of(Kind.FLIPPED) or found.of(Kind.BOXES):
        console.print(_classes(found))
    for line in summary(found):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for line in found.skipped[:MOST_ROWS]:
        console.print(f"left out: {line}", highlight=False, markup=False, soft_wrap=True, style="dim")


def summary(found: Differences) -> list[str]:
    """Return the sums, a line each."""
    counts = {kind: len(found.of(kind)) for kind in Kind}
    lines = [f"{len(found.pictures)} pictures judged again: {counts[Kind.SAME]} the same to the last bit"]
    if counts[Kind.FLIPPED]:
        flips = ", ".join(
            f"{number} {before.value} → {after.value}" for (before, after), number in sorted(found.flips.items())
        )
        lines.append(f"{counts[Kind.FLIPPED]} have another verdict: {flips}")
    if counts[Kind.BOXES]:
        lines.append(f"{counts[Kind.BOXES]} keep their verdict, with other boxes or scores")
    if counts[Kind.FIRST]:
        lines.append(f"{counts[Kind.FIRST]} were not looked at then (late, paused, overrun), and were now")
    if found.skipped:
        lines.append(f"{len(found.skipped)} were left out")
    return lines


def as_json(found: Differences) -> dict[str, Any]:
    """Return all of it as plain values."""
    return {
        "format": FORMAT,
        "differs": found.differs,
        "counts": {kind.value: len(found.of(kind)) for kind in Kind},
        "flips": {f"{before.value}>{after.value}": number for (before, after), number in found.flips.items()},
        "classes": [asdict(row) for row in found.classes],
        "pictures": [_picture(one) for one in found.pictures],
        "skipped": list(found.skipped),
    }


def _pictures(pictures: list[Replayed]) -> Table:
    table = Table(Column("picture", overflow="fold"), "camera", "then", "now", "why")
    for one in pictures:
        before, after = one.before.value, one.after.value
        then = [f"then: {reason.text}" for reason in one.stored.record.result.reasons]
        why = next(iter([*(reason.text for reason in one.again.judgement.reasons), *then]), "")
        style = "bold red" if one.kind is Kind.FLIPPED and before == "NG" else None
        table.add_row(one.stored.path.stem, one.stored.camera, before, after, why, style=style)
    return table


def _classes(found: Differences) -> Table:
    table = Table("class", "then", "now", "lost", "new", "mean IoU", "mean Δ score", "most")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in found.classes:
        counts = [str(value) for value in (row.reference, row.candidate, row.lost, row.invented)]
        means = [f"{value:.3f}" if row.is_paired else "·" for value in (row.iou_mean, row.score_mean, row.score_most)]
        table.add_row(row.name, *counts, *means, style="bold red" if row.lost or row.invented else None)
    return table


def _picture(one: Replayed) -> dict[str, Any]:
    pairing = one.compared.pairing
    return {
        "record": str(one.stored.path),
        "camera": one.stored.camera,
        "kind": one.kind.value,
        "then": one.before.value,
        "now": one.after.value,
        "reasons": [{"code": reason.code.value, "text": reason.text} for reason in one.again.judgement.reasons],
        "lost": len(pairing.lost),
        "new": len(pairing.invented),
    }
